"""What a batch says of itself: its fields, and their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.sizes import column_bytes
from tests.dataproto.support import jagged, small


def test_every_field_is_listed_by_store() -> None:
    data = small()
    data.union(DataProto.from_dict({"j": jagged([1], [], [2], [3])}))

    assert data.get_data_info() == "\n".join(
        [
            "batch",
            "  ids: (4, 2) (torch.int64) cpu",
            "  reward: (4,) (torch.float32) cpu",
            "  j: i64[4, jagged] (torch.int64) cpu",
            "non_tensor_batch",
            "  uid: ndarray(4,) (object)",
            "  score: ndarray(4,) (float32)",
            "meta_info",
            "  temperature: float",
            "  stop: list[str]",
        ]
    )


def test_a_tensordict_among_the_tensors_is_listed() -> None:
    data = DataProto(TensorDict({"n": TensorDict({"x": torch.ones(2)}, batch_size=[2])}, batch_size=[2]))

    assert data.get_data_info() == "batch\n  n: TensorDict\nnon_tensor_batch\nmeta_info"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "list[...]"),
        ([1, "a", 2], "list[int|str]"),
        ([1, 2, 3, "not looked at"], "list[int]"),
        ((1, "a"), "tuple(int, str)"),
        ({}, "dict"),
        ({"a": [1.0]}, "dict[str: list[float]]"),
        (np.zeros((2, 3), dtype=np.float32), "ndarray(2, 3) (float32)"),
        (None, "NoneType"),
        (torch.ones(2), "Tensor"),
    ],
    ids=repr,
)
def test_meta_is_listed_by_type(value: Any, text: str) -> None:
    assert DataProto(meta_info={"m": value}).get_data_info() == f"batch\nnon_tensor_batch\nmeta_info\n  m: {text}"


def test_a_list_that_holds_itself_is_listed() -> None:
    loop: list[Any] = [1]
    loop.append(loop)

    assert DataProto(meta_info={"m": loop}).get_data_info().endswith("  m: list[int|...]")


@pytest.mark.parametrize(("prefix", "start"), [("", "Size"), ("after rollout", "after rollout, Size")])
def test_the_sizes_are_printed(capsys: pytest.CaptureFixture[str], prefix: str, start: str) -> None:
    text = column(["x" * 4 * 1024**2, None])
    data = DataProto.from_dict({"ids": torch.ones(2, 3), "mask": torch.ones(2, 1024)}, {"text": text})

    assert data.print_size(prefix) is None  # type: ignore[func-returns-value]

    tensors, columns = (24 + 8192) / 1024**3, column_bytes(text) / 1024**3
    assert capsys.readouterr().out.splitlines() == [
        f"{start} of tensordict: {tensors} GB, size of non_tensor_batch: {columns} GB",
        "  ids: 24 B",
        "  mask: 8.0 KB",
        "  text: 4.0 MB",
    ]


def test_nothing_has_no_size(capsys: pytest.CaptureFixture[str]) -> None:
    DataProto().print_size()

    assert capsys.readouterr().out == "Size of tensordict: 0.0 GB, size of non_tensor_batch: 0.0 GB\n"
