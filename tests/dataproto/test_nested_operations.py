"""Every operation on nested tensors of every layout, held against what the same rows give as plain lists."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
import torch

from batchpact.dataproto import (
    DataProto,
    collate_fn,
    fold_batch_dim,
    pad_dataproto_to_divisor,
    unfold_batch_dim,
    unpad_dataproto,
)
from batchpact.schemas import BatchError
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS, Layout

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

Expected: TypeAlias = "list[tuple[DataProto, list[int]]]"
"""What an operation gave, with the rows that it must have, as numbers of the rows of the batch."""


def some(rows: int) -> list[int]:
    """Rows in another order, one of them twice, as far as there are any."""
    return [row for row in (rows - 1, 0, rows // 2, 0) if 0 <= row < rows]


def mask(rows: int) -> list[bool]:
    return [row % 3 != 1 for row in range(rows)]


def sliced(data: DataProto, rows: int) -> Expected:
    cuts = [(None, None, None), (1, None, None), (0, 1, None), (2, 2, 1), (None, None, 2), (1, None, 2), (-2, None, 1)]
    return [(data[slice(*cut)], list(range(rows))[slice(*cut)]) for cut in cuts]


def sliced_backwards(data: DataProto, rows: int) -> Expected:
    return [
        (data.slice(*cut), list(range(rows))[slice(*cut)]) for cut in [(None, None, -1), (None, 0, -2), (-1, 0, -1)]
    ]


def masked(data: DataProto, rows: int) -> Expected:
    expected = [row for row in range(rows) if row % 3 != 1]
    return [
        (data[np.array(mask(rows), dtype=bool)], expected),
        (data.select_idxs(torch.tensor(mask(rows), dtype=torch.bool)), expected),
        (data[np.zeros(rows, dtype=bool)], []),
    ]


def reordered(data: DataProto, rows: int) -> Expected:
    data.reorder(torch.arange(rows).flip(0))
    return [(data, list(range(rows))[::-1])]


def chunked(data: DataProto, rows: int) -> Expected:
    cuts = {parts: np.array_split(np.arange(rows), parts) for parts in range(1, 5) if rows % parts == 0}
    return [
        (chunk, rows_of_chunk.tolist())
        for parts, cut in cuts.items()
        for chunk, rows_of_chunk in zip(data.chunk(parts), cut, strict=True)
    ]


def chunked_unevenly(data: DataProto, rows: int) -> Expected:
    parts = [part.tolist() for part in np.array_split(np.arange(rows), 3)]
    return list(zip(data.chunk(3, uneven=True), parts, strict=True))


def split(data: DataProto, rows: int) -> Expected:
    parts = [list(range(rows))[start : start + 3] for start in range(0, rows, 3)]
    return list(zip(data.split(3), parts or [[]], strict=True))


def put_together(data: DataProto, rows: int) -> Expected:
    joined = DataProto.concat([data, data[:0], data[some(rows)], data[rows // 2 :], data[[]], data[::-1]])
    return [
        (DataProto.concat([data[:0], data[[]]]), []),
        (joined, [*range(rows), *some(rows), *range(rows // 2, rows), *reversed(range(rows))]),
    ]


def padded(data: DataProto, rows: int) -> Expected:
    longer, count = pad_dataproto_to_divisor(data, 5)
    order = [*range(rows), *(row % rows for row in range(rows, rows + count))]
    moved = longer[np.arange(len(longer))[::-1].copy()]
    return [
        (longer, order),
        (unpad_dataproto(longer, count), list(range(rows))),
        (unpad_dataproto(moved, count), list(range(rows))[::-1]),
    ]


def padded_in_place(data: DataProto, rows: int) -> Expected:
    data.padding(2 if rows else 0, "first")
    return [(data, [*range(rows), *[0, 0][: 2 * rows]])]


def iterated(data: DataProto, rows: int) -> Expected:
    """The dense field tells which rows a mini-batch has; all of them come once in each epoch."""
    parts = list(data.make_iterator(1, 2, seed=3, dataloader_kwargs={"shuffle": True}))
    told = [part.batch["number"].tolist() for part in parts if part.batch is not None]
    assert sorted(row for part in told for row in part) == sorted([*range(rows)] * 2)
    return list(zip(parts, told, strict=True))


def popped(data: DataProto, rows: int) -> Expected:
    fields = data.pop(["x", "twin", "number"], ["name"])
    assert data.batch is not None
    assert not list(data.batch.keys())
    return [(fields, list(range(rows)))]


def from_one_dict(data: DataProto, rows: int) -> Expected:
    assert data.batch is not None
    return [(DataProto.from_single_dict({**dict(data.batch.items()), **data.non_tensor_batch}), list(range(rows)))]


def whole(change: Callable[[DataProto], DataProto]) -> Callable[[DataProto, int], Expected]:
    """An operation that leaves the rows as they are."""
    return lambda data, rows: [(change(data), list(range(rows)))]


CASES: dict[str, Callable[[DataProto, int], Expected]] = {
    "slice": sliced,
    "slice backwards": sliced_backwards,
    "list": lambda data, rows: [(data[some(rows)], some(rows)), (data[[row - rows for row in some(rows)]], some(rows))],
    "array": lambda data, rows: [(data[np.array(some(rows), dtype=np.int32)], some(rows))],
    "tensor": lambda data, rows: [(data[torch.tensor(some(rows), dtype=torch.int64)], some(rows))],
    "mask": masked,
    "select_idxs": lambda data, rows: [(data.select_idxs(some(rows)), some(rows)), (data.select_idxs([]), [])],
    "repeat": lambda data, rows: [(data.repeat(3), [row for row in range(rows) for _ in range(3)])],
    "repeat as a whole": lambda data, rows: [(data.repeat(3, interleave=False), [*range(rows)] * 3)],
    "sample_level_repeat": lambda data, rows: [
        (data.sample_level_repeat([row % 3 for row in range(rows)]), [r for r in range(rows) for _ in range(r % 3)])
    ],
    "unfold_column_chunks": lambda data, rows: [
        (data.unfold_column_chunks(2), [row for row in range(rows) for _ in range(2)])
    ],
    "reorder": reordered,
    "chunk": chunked,
    "chunk unevenly": chunked_unevenly,
    "split": split,
    "concat": put_together,
    "pad to a divisor": padded,
    "padding": padded_in_place,
    "make_iterator": iterated,
    "collate_fn": lambda data, rows: [(collate_fn([data[row] for row in some(rows)]), some(rows))] if rows else [],
    "union": whole(lambda data: data.select(["number"]).union(data.select(["x", "twin"], []))),
    "pop": popped,
    "select": whole(lambda data: data.select(["twin", "x", "number"], deepcopy=True)),
    "rename": whole(lambda data: data.rename("x", "y").rename(["twin", "y"], ["old", "x"]).rename("old", "twin")),
    "to_tensordict": whole(lambda data: DataProto.from_tensordict(data.to_tensordict())),
    "from_single_dict": from_one_dict,
    "pickle": whole(lambda data: pickle.loads(pickle.dumps(data, protocol=5))),
    "pickle by an old protocol": whole(lambda data: pickle.loads(pickle.dumps(data, protocol=2))),
    "copy": whole(copy.copy),
    "deepcopy": whole(copy.deepcopy),
    "to": whole(lambda data: data.to("cpu")),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_are_those_of_lists(name: str, case: str) -> None:
    layout = LAYOUTS[name]
    for lengths in LENGTHS:
        data = layout.batch(lengths)
        for result, rows in CASES[case](data, len(lengths)):
            assert_rows(result, layout, lengths, rows, graph=bool(layout.grad) and not case.startswith("pickle"))
            if layout.memory != "strided" and case != "collate_fn":
                assert result.batch["x"].offsets() is result.batch["twin"].offsets()  # or torch could not add them


def assert_rows(result: DataProto, layout: Layout, lengths: list[int], rows: list[int], *, graph: bool) -> None:
    assert result.batch is not None
    assert len(result) == len(rows)
    assert result.batch["number"].tolist() == rows
    assert result.non_tensor_batch["name"].tolist() == [f"row {row}" for row in rows]
    x, twin = result.batch["x"], result.batch["twin"]
    for tensor, factor in ((x, 1), (twin, 2)):
        expected = layout.rows(lengths, factor)
        found = tensor.unbind(0)
        assert [row.tolist() for row in found] == [expected[row] for row in rows]
        assert [row.shape for row in found] == [(*layout.before, lengths[row], *layout.after) for row in rows]
        assert tensor.dtype is layout.dtype
    if rows:
        assert x.requires_grad is graph
    if layout.memory == "strided":
        assert x.is_nested
        assert x.layout is twin.layout is torch.strided
    else:
        assert x.layout is twin.layout is torch.jagged
        assert x._ragged_idx == twin._ragged_idx == layout.axis + 1


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_row_is_dense(name: str) -> None:
    layout, lengths = LAYOUTS[name], [2, 0, 3, 1]
    data = layout.batch(lengths)

    for row in (0, 1, 3, -1, np.int64(2)):
        taken = data[row].batch["x"]
        assert taken.tolist() == layout.rows(lengths)[row]
        assert taken.shape == (*layout.before, lengths[row], *layout.after)
        assert not taken.is_nested


@pytest.mark.parametrize("name", LAYOUTS)
def test_batches_of_the_same_rows_are_equal(name: str) -> None:
    layout = LAYOUTS[name]
    for lengths in LENGTHS:
        data, again = layout.batch(lengths), layout.batch(lengths)

        assert data == again
        assert len(data.union(again)) == len(lengths)
        assert len(again[:].union(data[list(range(len(lengths)))])) == len(lengths)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    "changed", [[2, 0, 3, 2], [2, 1, 2, 1], [2, 0, 3]], ids=["longer row", "other lengths", "fewer rows"]
)
def test_batches_of_other_lengths_differ(name: str, changed: list[int]) -> None:
    layout = LAYOUTS[name]
    data, other = (DataProto.from_dict({"x": layout.nested(lengths)}) for lengths in ([2, 0, 3, 1], changed))

    assert data != other
    with pytest.raises(BatchError, match=r"x  the sides differ|rows on the left"):
        data.union(other)


@pytest.mark.parametrize("name", LAYOUTS)
def test_another_value_is_found_in_its_row(name: str) -> None:
    layout, lengths = LAYOUTS[name], [2, 0, 3, 1]
    data, other = (DataProto.from_dict({"x": layout.nested(lengths, factor)}) for factor in (1, 2))
    mixed = DataProto.concat([data[:2], other[2:]])

    assert data != mixed
    with pytest.raises(BatchError, match=r"x  the sides differ: .*row 2"):
        data.union(mixed)


@pytest.mark.parametrize("name", [name for name, layout in LAYOUTS.items() if layout.grad])
@pytest.mark.parametrize("case", sorted(CASES.keys() - {"pickle", "pickle by an old protocol", "deepcopy"}))
def test_the_gradient_reaches_a_row_as_often_as_it_was_taken(name: str, case: str) -> None:
    data = LAYOUTS[name].batch([2, 0, 3, 1])
    assert data.batch is not None
    field = data.batch["x"]
    taken = CASES[case](data, 4)

    total = torch.stack([row.sum() for result, _ in taken for row in result.batch["x"].unbind(0)]).sum()
    (gradient,) = torch.autograd.grad(total, field)

    times = [sum(rows.count(row) for _, rows in taken) for row in range(4)]
    assert [set(row.flatten().tolist()) for row in gradient.unbind(0)] == [{times[0]}, set(), {times[2]}, {times[3]}]


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("fold", [lambda data: fold_batch_dim(data, 2), lambda data: unfold_batch_dim(data, 2)])
def test_rows_of_different_lengths_make_no_axis(name: str, fold: Callable[[DataProto], DataProto]) -> None:
    data = DataProto.from_dict({"x": LAYOUTS[name].nested([2, 0, 3, 1])})

    with pytest.raises(BatchError, match=r"BP045 store  x  .*; a dense tensor: rows of different lengths make no axis"):
        fold(data)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_batch_can_be_looked_at(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = LAYOUTS[name].batch([2, 0, 3, 1])

    data.check_consistency()
    data.print_size()

    assert "  x: " in capsys.readouterr().out
    assert "  x: " in data.get_data_info()
    assert "x: " in repr(data)
    assert len(data) == 4
