"""Indexing, repeating and reordering: one plan for every store, and nothing shared but storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, DataProtoItem, column
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import jagged, jagged_on_2, plain, refuses, small

# --- one row ----------------------------------------------------------------------------------------------------------


def test_an_int_takes_one_row_without_its_batch_axis() -> None:
    data = small()

    item = data[1]

    assert type(item) is DataProtoItem
    assert item.batch is not None
    assert item.batch["ids"].tolist() == [2, 3]
    assert item.batch["reward"].item() == -1.0
    assert item.batch.batch_size == ()
    assert item.non_tensor_batch == {"uid": "b", "score": np.float32(2.5)}
    assert item.meta_info == {"temperature": 0.7, "stop": ["x", "y", "z", "w"]}


@pytest.mark.parametrize("row", [-1, np.int64(3), 3])
def test_a_row_is_counted_from_either_end(row: int) -> None:
    assert small()[row].non_tensor_batch["uid"] == "d"


def test_a_row_of_a_jagged_tensor_is_dense() -> None:
    data = DataProto.from_dict({"x": jagged([1, 2], [3]), "p": jagged_on_2([[1, 2], [3, 4]], [[5], [6]])})

    assert data[0].batch["x"].tolist() == [1, 2]
    assert data[1].batch["p"].tolist() == [[5], [6]]


@pytest.mark.parametrize(("row", "length"), [(4, 4), (-5, 4), (0, 0)])
def test_a_row_outside_the_batch_is_refused(row: int, length: int) -> None:
    with refuses("__getitem__", f"BP044 index  index  row {row}; the batch has {length} rows"):
        small()[:length][row]


def test_iteration_gives_the_rows_and_ends() -> None:
    assert [item.non_tensor_batch["uid"] for item in small()] == ["a", "b", "c", "d"]
    assert list(DataProto()) == []


def test_a_row_has_a_meta_of_its_own() -> None:
    data = small()

    data[0].meta_info["late"] = 1

    assert "late" not in data.meta_info


# --- rows -------------------------------------------------------------------------------------------------------------

FOUR = {"tensor": torch.arange(4), "text": ["a", "b", "c", "d"]}


def four(rows: list[int]) -> tuple[list[int], list[str]]:
    return rows, [FOUR["text"][row] for row in rows]


def held(data: DataProto) -> tuple[list[int], list[str]]:
    assert data.batch is not None
    return data.batch["tensor"].tolist(), list(data.non_tensor_batch["text"])


@pytest.mark.parametrize(
    ("take", "rows"),
    [
        (lambda d: d[1:3], [1, 2]),
        (lambda d: d[::-1], [3, 2, 1, 0]),
        (lambda d: d[::2], [0, 2]),
        (lambda d: d[[2, 2, -1]], [2, 2, 3]),
        (lambda d: d[[True, False, False, True]], [0, 3]),
        (lambda d: d[np.array([3, 0])], [3, 0]),
        (lambda d: d[torch.tensor([3, 0])], [3, 0]),
        (lambda d: d[np.array([False, True, True, False])], [1, 2]),
        (lambda d: d[torch.tensor([False, True, True, False])], [1, 2]),
        (lambda d: d[[]], []),
        (lambda d: d.select_idxs([1, 1]), [1, 1]),
        (lambda d: d.select_idxs(torch.tensor([True, False, True, False])), [0, 2]),
        (lambda d: d.slice(1), [1, 2, 3]),
        (lambda d: d.slice(1, 3), [1, 2]),
        (lambda d: d.slice(0, 4, 3), [0, 3]),
        (lambda d: d.slice(end=-1), [0, 1, 2]),
        (lambda d: d.repeat(2), [0, 0, 1, 1, 2, 2, 3, 3]),
        (lambda d: d.repeat(repeat_times=2, interleave=False), [0, 1, 2, 3, 0, 1, 2, 3]),
        (lambda d: d.repeat(1), [0, 1, 2, 3]),
    ],
)
def test_both_stores_take_the_same_rows(take: Callable[[DataProto], DataProto], rows: list[int]) -> None:
    data = DataProto.from_dict({"tensor": FOUR["tensor"]}, {"text": FOUR["text"]})

    assert held(take(data)) == four(rows)
    assert held(data) == four([0, 1, 2, 3])


@pytest.mark.parametrize("order", [[3, 1, 0, 2], np.array([3, 1, 0, 2]), torch.tensor([3, 1, 0, 2])], ids=repr)
def test_reorder_works_in_place(order: object) -> None:
    data = DataProto.from_dict({"tensor": FOUR["tensor"]}, {"text": FOUR["text"]}, {"k": 1})

    assert data.reorder(order) is None  # type: ignore[arg-type, func-returns-value]

    assert held(data) == four([3, 1, 0, 2])
    assert data.meta_info == {"k": 1}


def test_a_reorder_that_is_refused_changes_nothing() -> None:
    data = small()

    with refuses("reorder", "BP044 index  index  row 9; the batch has 4 rows"):
        data.reorder([0, 9, 1, 2])

    assert data == small()


def test_an_inner_batch_axis_stays() -> None:
    data = DataProto(TensorDict({"x": torch.arange(12).reshape(3, 2, 2)}, batch_size=[3, 2]))

    taken = data[[2, 0]]

    assert taken.batch is not None
    assert taken.batch.batch_size == (2, 2)
    assert taken.batch["x"].tolist() == [[[8, 9], [10, 11]], [[0, 1], [2, 3]]]


def test_an_inner_tensordict_takes_its_rows_too() -> None:
    data = DataProto.from_dict({"inner": TensorDict({"x": torch.arange(3)}, batch_size=[3])})

    for rows in ([2, 0], slice(0, 3, 2)):
        taken = data[rows]
        assert taken.batch is not None
        assert sorted(taken.batch["inner", "x"].tolist()) == [0, 2]
    assert DataProto.concat(data.chunk(3)) == data
    assert DataProto.concat([data[1:], data[:1]]) != data


# --- what is derived --------------------------------------------------------------------------------------------------

DERIVED: dict[str, Callable[[DataProto], DataProto]] = {
    "chunk": lambda d: d.chunk(1)[0],
    "uneven chunk": lambda d: d.chunk(3, uneven=True)[0],
    "split": lambda d: d.split(3)[0],
    "slice": lambda d: d[:1],
    "slice()": lambda d: d.slice(0, 2),
    "the whole slice": lambda d: d[:],
    "negative step": lambda d: d[::-1],
    "index": lambda d: d[[0, 0]],
    "mask": lambda d: d[torch.tensor([True] * len(d))],
    "select_idxs": lambda d: d.select_idxs([0]),
    "repeat": lambda d: d.repeat(2),
    "select": lambda d: d.select(),
    "pop": lambda d: d.pop(["ids"], ["uid"], ["stop"]),
    "concat": lambda d: DataProto.concat([d]),
    "concat of parts": lambda d: DataProto.concat(d.chunk(2, uneven=True)),
    "union": lambda d: DataProto().union(d),
}


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED.keys())
def test_a_derived_batch_has_mappings_of_its_own(derive: Callable[[DataProto], DataProto]) -> None:
    """Case A1."""
    data = small()
    derived = derive(data)
    assert derived.batch is not None
    assert data.batch is not None
    before = plain(data)

    derived.meta_info["late"] = 1
    derived.non_tensor_batch["late"] = column(range(len(derived)))
    derived.batch["late"] = torch.zeros(len(derived))

    assert plain(data) == before


def test_a_key_that_is_set_on_one_part_is_in_no_other() -> None:
    """Case A1: parts do not share their meta."""
    parts = small().chunk(4)

    parts[0].meta_info["rank"] = 0

    assert [part.meta_info.get("rank") for part in parts] == [0, None, None, None]


@pytest.mark.parametrize("value", [["x"], ["x", "y", "z", "w"], "x", "xyzw"])
@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED.keys())
def test_a_meta_value_as_long_as_the_batch_is_never_cut(
    derive: Callable[[DataProto], DataProto], value: str | list[str]
) -> None:
    """Case P4: the role of a value comes from its place, never from its length."""
    data = small()[: len(value)]
    data.meta_info["stop"] = value

    assert derive(data).meta_info["stop"] is value


@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED.keys())
def test_a_derived_batch_remembers_who_wrote_its_fields(derive: Callable[[DataProto], DataProto]) -> None:
    data = small()
    data._writers = {"ids": "rollout"}

    assert derive(data).last_writer("ids") == "rollout"


def test_slices_share_storage_and_indexes_do_not() -> None:
    data = small()
    assert data.batch is not None

    for part, shared in ((data[1:3], True), (data[::2], True), (data[[1, 2]], False), (data[::-1], False)):
        assert part.batch is not None
        same = part.batch["ids"].untyped_storage().data_ptr() == data.batch["ids"].untyped_storage().data_ptr()
        assert same is shared
        assert np.shares_memory(part.non_tensor_batch["score"], data.non_tensor_batch["score"]) is shared


# --- what a batch carries unseen --------------------------------------------------------------------------------------


def test_row_origins_and_pad_marks_travel_with_the_rows() -> None:
    data = small()
    data._marks = RowMarks(np.arange(4), np.array([False, False, True, True]))

    taken = data[[3, 0]].repeat(2)
    assert (taken._marks.origin.tolist(), taken._marks.pads.tolist()) == ([3, 3, 0, 0], [True, True, False, False])

    joined = DataProto.concat(data.chunk(3, uneven=True))
    assert (joined._marks.origin.tolist(), joined._marks.pads.tolist()) == ([0, 1, 2, 3], [False, False, True, True])

    data.reorder([1, 2, 3, 0])
    assert (data._marks.origin.tolist(), data._marks.pads.tolist()) == ([1, 2, 3, 0], [False, True, True, False])
    assert data.select(["ids"])._marks.origin.tolist() == data.pop(["ids"])._marks.origin.tolist() == [1, 2, 3, 0]


# --- each row its own number of times ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_each_row_is_repeated_as_often_as_its_number_says(kind: Any) -> None:
    data = DataProto.from_dict({"tensor": FOUR["tensor"]}, {"text": FOUR["text"]})

    assert held(data.sample_level_repeat(kind([1, 0, 3, 2]))) == four([0, 2, 2, 2, 3, 3])
    assert held(data.sample_level_repeat(repeat_times=kind([0, 0, 0, 0]))) == four([])
    assert held(data) == four([0, 1, 2, 3])


def test_no_row_has_no_number() -> None:
    assert len(small()[:0].sample_level_repeat([])) == 0


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ([1, 2], "numbers of shape [2]; one number for each of 4 rows"),
        (torch.ones(4, 1, dtype=torch.int64), "numbers of shape [4, 1]; one number for each of 4 rows"),
        ([1, -2, 0, 1], "-2; whole numbers, 0 or more"),
        ([1.0, 2, 3, 4], "numbers of float64; whole numbers, 0 or more"),
        ([True, False, True, True], "numbers of bool; whole numbers, 0 or more"),
        ([[1], [2, 3], 1, 1], "numbers of different lengths; one number for each of 4 rows"),
        (2, "int 2; a list, an array or a tensor of numbers"),
    ],
    ids=repr,
)
def test_numbers_that_do_not_fit_are_refused(numbers: Any, line: str) -> None:
    with refuses("sample_level_repeat", f"BP044 index  repeat_times  {line}"):
        small().sample_level_repeat(numbers)
