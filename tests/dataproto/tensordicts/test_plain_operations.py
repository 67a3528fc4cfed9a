"""What `get_tensordict` makes is an ordinary `TensorDict`: tensordict's own operations and the wire keep its fields."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto
from batchpact.dataproto import tensordicts as tu
from tests.dataproto.support import jagged, jagged_on_2, plain, plain_tensor
from tests.dataproto.tensordicts.support import shown

CELLS: list[Any] = [[], [0.5], {"a": [1]}, None]


def batch() -> TensorDict:
    """Dense tensors, columns and meta."""
    return tu.get_tensordict(
        {
            "obs": torch.arange(8).reshape(4, 2),
            "uid": ["a", "b", "c", "d"],
            "cells": CELLS,
            "score": np.array([0.5, 1.5, 2.5, 3.5], dtype=np.float32),
        },
        {"name": "grpo", "four": [1, 2, 3, 4]},
    )


def expected(rows: list[int]) -> dict[str, tuple[str, str]]:
    scores = [np.float32(row + 0.5) for row in rows]
    return {
        "obs": ("tensor", plain_tensor(torch.tensor([[2 * row, 2 * row + 1] for row in rows]))),
        "uid": ("column", repr(["abcd"[row] for row in rows])),
        "cells": ("column", repr([CELLS[row] for row in rows])),
        "score": ("column", repr(scores)),
        "name": ("meta", "'grpo'"),
        "four": ("meta", "[1, 2, 3, 4]"),
    }


INDICES: list[tuple[Any, list[int]]] = [
    (slice(1, 3), [1, 2]),
    (slice(None, None, 2), [0, 2]),
    ([3, 0], [3, 0]),
    (np.array([2, 2]), [2, 2]),
    (torch.tensor([1]), [1]),
    (torch.tensor([True, False, False, True]), [0, 3]),
]


@pytest.mark.parametrize(("index", "rows"), INDICES, ids=repr)
def test_an_index_gives_the_rows_of_every_entry(index: Any, rows: list[int]) -> None:
    found = batch()[index]

    assert found.batch_size == (len(rows),)
    assert shown(found) == expected(rows)


def test_one_row_gives_its_cells() -> None:
    row = batch()[2]

    assert (row["obs"].tolist(), row["uid"], row["cells"], row["name"]) == ([4, 5], "c", {"a": [1]}, "grpo")
    assert (row.batch_size, len(row)) == ((), 0)


def test_the_length_is_the_number_of_rows() -> None:
    assert len(batch()) == 4
    assert len(tu.get_tensordict({"u": np.array(["a", "b"], dtype=object)}, {"k": 1})) == 2
    assert len(tu.get_tensordict({}, {"k": [1, 2, 3]})) == 0


def test_cells_can_be_written() -> None:
    data = tu.get_tensordict({"u": ["a", "b"]})

    data["u"][1] = "z"

    assert list(data["u"]) == tu.get(data, "u") == ["a", "z"]
    assert data[1]["u"] == "z"


@pytest.mark.parametrize(
    "parts",
    [
        lambda data: data.chunk(2),
        lambda data: data.split([1, 3]),
        lambda data: data.tensor_split(3, dim=0),
        lambda data: tu.chunk_tensordict(data, 4),
    ],
    ids=["chunk", "split", "tensor_split", "ours"],
)
@pytest.mark.parametrize(
    "concat",
    [lambda parts: torch.cat(list(parts), dim=0), lambda parts: TensorDict.cat(list(parts)), tu.concat_tensordict],
    ids=["torch.cat", "TensorDict.cat", "ours"],
)
def test_parts_are_put_together_by_whichever_function(
    parts: Callable[[Any], Any], concat: Callable[[Any], Any]
) -> None:
    assert shown(concat(parts(batch()))) == expected([0, 1, 2, 3])


def test_rows_are_repeated() -> None:
    assert shown(batch().repeat_interleave(2)) == expected([0, 0, 1, 1, 2, 2, 3, 3])
    assert shown(batch().repeat(2)) == expected([0, 1, 2, 3, 0, 1, 2, 3])


def test_some_entries_are_selected() -> None:
    assert shown(batch().select("uid", "name")) == {key: expected([0, 1, 2, 3])[key] for key in ("uid", "name")}


def saved(data: Any) -> Any:
    stream = io.BytesIO()
    torch.save(data, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda data: pickle.loads(pickle.dumps(data)),
    "pickle of consolidated": lambda data: pickle.loads(pickle.dumps(tu.contiguous(data).consolidate())),
    "torch.save": saved,
    "deepcopy": copy.deepcopy,
    "clone": lambda data: data.clone(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_tensordict_comes_back_from_every_way(way: Callable[[Any], Any]) -> None:
    data = tu.get_tensordict(batch(), {"late": None})
    data["flat"] = jagged([1], [2, 3], [], [4])

    back = way(data)

    assert shown(back) == {**expected([0, 1, 2, 3]), "flat": shown(data)["flat"], "late": ("meta", "None")}
    tu.assert_tensordict_eq(back, data)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_parts_of_position_ids_come_back_from_every_way(way: Callable[[Any], Any]) -> None:
    deep = jagged_on_2([[1, 2], [3, 4]], [[5], [6]], [[7, 8, 9], [10, 11, 12]], [[], []])
    parts = tu.chunk_tensordict(tu.get_tensordict({"position_ids": deep}), 2)

    back = [way(part) for part in parts]
    for part in back:
        tu.maybe_fix_3d_position_ids(part)

    assert shown(tu.concat_tensordict(back)) == {"position_ids": ("tensor", plain_tensor(deep))}


def test_packed_rows_have_their_offsets() -> None:
    flat = jagged([1, 2, 3], [4])

    data = tu.get_tensordict({"input_ids": flat, "uid": ["a", "b"]})

    assert data["input_ids"].offsets().tolist() == [0, 3, 4]
    assert data["input_ids"].values().tolist() == [1, 2, 3, 4]
    assert data[0]["input_ids"].tolist() == data["input_ids"][0].tolist() == [1, 2, 3]


def test_a_dataproto_is_made_of_it_and_back() -> None:
    data = DataProto.from_tensordict(batch())

    assert [set(store) for store in data.stores()[:3]] == [{"obs"}, {"uid", "cells", "score"}, {"name", "four"}]
    assert shown(data.to_tensordict()) == expected([0, 1, 2, 3])
    assert plain(DataProto.from_tensordict(data.to_tensordict())) == plain(data)
