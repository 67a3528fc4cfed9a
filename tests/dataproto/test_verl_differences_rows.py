"""Each row of "Rows" in `docs/differences.md`, shown on the smallest batch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from batchpact import dataproto
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError

verl = pytest.importorskip("verl.protocol")

pytestmark = pytest.mark.peers

VerlDataProto = verl.DataProto


def rows(kind: Any, count: int = 3, **options: Any) -> Any:
    return kind.from_dict({"x": torch.arange(count)}, {"c": np.arange(count)}, **options)


def told(data: Any) -> list[int]:
    """Which rows these are; both stores agree."""
    assert data.batch["x"].tolist() == data.non_tensor_batch["c"].tolist()
    return data.batch["x"].tolist()  # type: ignore[no-any-return]


def test_index_nothing() -> None:
    assert VerlDataProto()[7].batch is None
    assert len(list(islice(VerlDataProto(), 100))) == 100

    with pytest.raises(BatchError, match="row 7; the batch has 0 rows"):
        DataProto()[7]
    assert list(DataProto()) == []


@pytest.mark.parametrize("item", [[2, 0], (2, 0), np.array([2, 0]), torch.tensor([2, 0])])
def test_index_tuple(item: Any) -> None:
    def reordered(kind: Any) -> list[int]:
        data = rows(kind)
        data.reorder(item)
        return told(data)

    if isinstance(item, tuple):
        with pytest.raises(TypeError):
            rows(VerlDataProto)[item]
        with pytest.raises(AttributeError):
            rows(VerlDataProto).select_idxs(item)
    if not isinstance(item, torch.Tensor):
        with pytest.raises(AttributeError):
            reordered(VerlDataProto)

    assert told(rows(DataProto)[item]) == told(rows(DataProto).select_idxs(item)) == reordered(DataProto) == [2, 0]


def test_index_booleans() -> None:
    assert rows(VerlDataProto)[True].non_tensor_batch["c"].tolist() == [[0, 1, 2]]  # an axis more
    assert told(rows(VerlDataProto)[[True, 2]]) == [1, 2]

    with pytest.raises(BatchError, match="bool True; an int, a slice, a list, an array or a tensor of rows"):
        rows(DataProto)[True]
    with pytest.raises(BatchError, match="booleans and numbers in one list"):
        rows(DataProto)[[True, 2]]


def test_index_floats() -> None:
    assert told(rows(VerlDataProto)[[1.9, 0.2]]) == [1, 0]

    with pytest.raises(BatchError, match="an index of float64"):
        rows(DataProto)[[1.9, 0.2]]


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_index_uint8() -> None:
    index = np.array([1, 0, 1], dtype=np.uint8)

    with pytest.raises(RuntimeError, match="batch dimension mismatch"):  # a mask: two rows of tensors
        rows(VerlDataProto)[index]
    assert VerlDataProto.from_dict(non_tensors={"c": np.arange(3)})[index].non_tensor_batch["c"].tolist() == [1, 0, 1]
    assert told(rows(DataProto)[index]) == [1, 0, 1]


def test_index_axes() -> None:
    index = torch.tensor([[0, 1], [1, 2]])

    assert rows(VerlDataProto)[index].batch["x"].shape == (2, 2)
    with pytest.raises(BatchError, match="an index of 2 axes"):
        rows(DataProto)[index]


def test_slice_backwards() -> None:
    with pytest.raises(ValueError, match="step must be greater than zero"):
        rows(VerlDataProto)[::-1]
    assert VerlDataProto.from_dict(non_tensors={"c": np.arange(3)})[::-1].non_tensor_batch["c"].tolist() == [2, 1, 0]
    assert told(rows(DataProto)[::-1]) == [2, 1, 0]


COUNTS: list[tuple[Callable[[Any, Any], object], object]] = [
    (lambda data, module: len(data.repeat(0)), 0),
    (lambda data, module: data.split(-1), []),
    (lambda data, module: list(data.make_iterator(1, epochs=-1)), []),
    (lambda data, module: module.pad_dataproto_to_divisor(data, -2)[1], -1),
    (lambda data, module: told(module.unpad_dataproto(data, -1)), [0]),
]


@pytest.mark.parametrize(("operation", "result"), COUNTS)
def test_counts(operation: Callable[[Any, Any], object], result: object) -> None:
    assert operation(rows(VerlDataProto), verl) == result
    with pytest.raises(BatchError, match=r"a whole number, [01] or more"):
        operation(rows(DataProto), dataproto)


def test_repeat_numbers() -> None:
    def repeated(kind: Any) -> int:
        return len(kind.from_dict(non_tensors={"c": [1, 2]}).sample_level_repeat([2]))

    assert repeated(VerlDataProto) == 4
    with pytest.raises(BatchError, match=r"numbers of shape .1.; one number for each of 2 rows"):
        repeated(DataProto)


def test_repeat_no_rows() -> None:
    with pytest.raises(NotImplementedError):
        rows(VerlDataProto, 0).sample_level_repeat([])
    assert told(rows(DataProto, 0).sample_level_repeat([])) == []


def test_split_no_rows() -> None:
    assert rows(VerlDataProto, 0).split(2) == []
    (part,) = rows(DataProto, 0).split(2)
    assert told(part) == []


def test_iterate_no_rows() -> None:
    def iterate(kind: Any, shuffle: bool) -> list[Any]:
        return list(rows(kind, 0).make_iterator(2, 1, dataloader_kwargs={"shuffle": shuffle}))

    with pytest.raises(ValueError, match="num_samples"):
        iterate(VerlDataProto, True)
    assert iterate(VerlDataProto, False) == iterate(DataProto, True) == iterate(DataProto, False) == []


def test_chunk_auto_padding() -> None:
    def sizes(kind: Any, count: int, parts: int) -> list[int]:
        return [len(part) for part in rows(kind, count, auto_padding=True).chunk(parts)]

    assert sizes(VerlDataProto, 10, 4) == [3, 3, 3, 1]
    columns = VerlDataProto.from_dict(non_tensors={"c": np.arange(10)}, auto_padding=True)
    assert [len(part) for part in columns.chunk(4)] == sizes(DataProto, 10, 4) == [3, 3, 2, 2]
    with pytest.raises(AssertionError):
        sizes(VerlDataProto, 2, 3)
    assert sizes(DataProto, 2, 3) == [1, 1, 0]


def test_unfold_unshared() -> None:
    def unfolded(kind: Any, module: Any) -> Any:
        return module.unfold_batch_dim(kind.from_dict({"x": torch.ones(2, 3), "y": torch.ones(2)}))

    assert len(unfolded(VerlDataProto, verl)) == 2
    with pytest.raises(BatchError, match=r"\[2, 3\] in x, \[2\] in y; all fields share their first 2 axes"):
        unfolded(DataProto, dataproto)


def test_unpad_marks() -> None:
    def unpadded(kind: Any, module: Any) -> list[int]:
        padded, count = module.pad_dataproto_to_divisor(rows(kind), 4)
        padded.reorder(torch.tensor([3, 1, 2, 0]))
        return told(module.unpad_dataproto(padded, count))

    assert unpadded(VerlDataProto, verl) == [0, 1, 2]  # this 0 is the pad row
    assert unpadded(DataProto, dataproto) == [1, 2, 0]
    assert told(dataproto.unpad_dataproto(rows(DataProto), 1)) == told(verl.unpad_dataproto(rows(VerlDataProto), 1))


def test_unpad_too_many() -> None:
    assert told(verl.unpad_dataproto(rows(VerlDataProto), 4)) == []
    with pytest.raises(BatchError, match="3 rows; a batch with the 4 pad rows that are to be removed"):
        dataproto.unpad_dataproto(rows(DataProto), 4)


def test_fold_padding() -> None:
    def folded(kind: Any, module: Any) -> Any:
        return module.fold_batch_dim(module.pad_dataproto_to_divisor(rows(kind), 4)[0], 2)

    assert folded(VerlDataProto, verl).batch["x"].tolist() == [[0, 1], [2, 0]]
    with pytest.raises(BatchError, match="group 1 is padding in part"):
        folded(DataProto, dataproto)


def test_padding_candidate() -> None:
    theirs = rows(VerlDataProto)
    theirs.padding(1, "frist")
    assert told(theirs) == [0, 1, 2, 2]
    with pytest.raises(BatchError, match="'frist'; 'first' or 'last'"):
        rows(DataProto).padding(1, "frist")
