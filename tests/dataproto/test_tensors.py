"""Tensors of every layout: taken and put together without losing dtype, device or layout."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto
from batchpact.dataproto.rows import plan_rows
from batchpact.dataproto.tensors import cat, items, take

PROTOTYPE = "ignore:The PyTorch API of nested tensors is in prototype stage"


def strided() -> torch.Tensor:
    return torch.nested.nested_tensor([torch.tensor([1, 2]), torch.tensor([3]), torch.tensor([4, 5, 6])])


def rows(tensor: torch.Tensor) -> list[list[int]]:
    return [row.tolist() for row in tensor.unbind(0)]


@pytest.mark.filterwarnings(PROTOTYPE)
@pytest.mark.parametrize(
    ("index", "expected"),
    [([2, 0, 2], [[4, 5, 6], [1, 2], [4, 5, 6]]), (slice(1, None), [[3], [4, 5, 6]]), (slice(0, 0), []), ([], [])],
)
def test_rows_of_a_strided_nested_tensor(index: list[int] | slice, expected: list[list[int]]) -> None:
    taken = DataProto.from_dict({"x": strided()})[index]

    assert taken.batch is not None
    assert rows(taken.batch["x"]) == expected
    assert taken.batch["x"].layout is torch.strided
    assert taken.batch["x"].dtype is torch.int64


@pytest.mark.filterwarnings(PROTOTYPE)
def test_a_strided_nested_tensor_is_cut_and_put_together() -> None:
    data = DataProto.from_dict({"x": strided()})

    joined = DataProto.concat(data.chunk(5, uneven=True))

    assert joined.batch is not None
    assert rows(joined.batch["x"]) == rows(strided())


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16, torch.bool, torch.complex64, torch.uint16])
def test_every_dtype_is_taken_and_put_together(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0, 1], [1, 0], [1, 1]]).to(dtype)

    joined = cat([take(tensor, plan_rows("op", [2, 0], 3)), take(tensor, plan_rows("op", slice(1, 2), 3))])

    assert joined.dtype is dtype
    assert joined.to(torch.complex64).real.int().tolist() == [[1, 1], [0, 1], [1, 0]]


def test_an_expanded_tensor_is_taken_without_being_written_out() -> None:
    taken = take(torch.arange(3).reshape(3, 1).expand(3, 1000), plan_rows("op", slice(1, 3), 3))

    assert taken.shape == (2, 1000)
    assert taken.untyped_storage().nbytes() == 24


def test_no_batch_has_no_items() -> None:
    assert items(None) == {}
    assert list(items(TensorDict({"x": torch.ones(1)}, batch_size=[1]))) == ["x"]
