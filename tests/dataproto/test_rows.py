"""The index plan: every way to name rows gives the same rows, and what does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto.rows import Rows, plan_rows, repeat_rows
from batchpact.schemas import BatchError
from tests.dataproto.support import refuses

FIVE = 5


def rows(item: object) -> list[int]:
    return plan_rows("op", item, FIVE).index(FIVE).tolist()


@pytest.mark.parametrize(
    "item",
    [
        [4, 0, -4],
        (4, 0, -4),
        np.array([4, 0, 1]),
        np.array([4, 0, -4], dtype=np.int8),
        np.array([4, 0, 1], dtype=np.uint64),
        torch.tensor([4, 0, -4]),
        torch.tensor([4, 0, 1], dtype=torch.uint8),
        torch.tensor([4, 0, 1], dtype=torch.int32),
        [np.int64(4), np.int32(0), 1],
        [torch.tensor(4), torch.tensor(0), torch.tensor(1)],
    ],
    ids=repr,
)
def test_integers_of_every_kind_name_rows(item: Any) -> None:
    assert rows(item) == [4, 0, 1]


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_booleans_are_a_mask(kind: Any) -> None:
    assert rows(kind([True, False, False, True, True])) == [0, 3, 4]


@pytest.mark.parametrize(
    "item", [[], (), np.array([], dtype=np.int64), torch.tensor([], dtype=torch.int64), slice(0, 0), slice(9, None)]
)
def test_no_row_may_be_named(item: Any) -> None:
    assert rows(item) == []
    assert plan_rows("op", item, FIVE).count == 0


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (slice(None), [0, 1, 2, 3, 4]),
        (slice(1, 3), [1, 2]),
        (slice(-2, None), [3, 4]),
        (slice(None, None, 2), [0, 2, 4]),
        (slice(1, 99, 3), [1, 4]),
        (slice(3, 1), []),
        (slice(None, None, -1), [4, 3, 2, 1, 0]),
        (slice(3, 0, -2), [3, 1]),
        (slice(np.int64(1), np.int64(3)), [1, 2]),
    ],
)
def test_a_slice_names_the_rows_of_a_list(item: slice, expected: list[int]) -> None:
    plan = plan_rows("op", item, FIVE)

    assert plan.index(FIVE).tolist() == expected
    assert plan.count == len(expected)
    assert plan.tensor(FIVE, torch.device("cpu")).tolist() == expected


@pytest.mark.parametrize(("item", "view"), [(slice(1, 4, 2), True), (slice(3, 0, -1), False), ([1, 3], False)])
def test_a_slice_with_a_positive_step_is_taken_as_a_view(item: Any, view: bool) -> None:
    column = np.arange(5)

    taken = plan_rows("op", item, FIVE).of(column)

    assert np.shares_memory(taken, column) is view


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ([0, 5, 7], "BP044 index  index  row 5; the batch has 5 rows"),
        ([0, -6], "BP044 index  index  row -6; the batch has 5 rows"),
        (torch.tensor([5]), "BP044 index  index  row 5; the batch has 5 rows"),
        ([True, False], "BP044 index  index  a mask of 2; the batch has 5 rows; a mask has one boolean per row"),
        (
            np.ones(6, dtype=bool),
            "BP044 index  index  a mask of 6; the batch has 5 rows; a mask has one boolean per row",
        ),
        ([[0, 1]], "BP044 index  index  an index of 2 axes; an index has one axis: the rows"),
        (torch.ones(5, 1, dtype=torch.bool), "BP044 index  index  an index of 2 axes; an index has one axis: the rows"),
        (torch.tensor(2), "BP044 index  index  an index of 0 axes; an index has one axis: the rows"),
        ([0.0, 1.0], "BP044 index  index  an index of float64; rows are integers or booleans"),
        (torch.ones(5), "BP044 index  index  an index of float32; rows are integers or booleans"),
        (np.array([]), "BP044 index  index  an index of float64; rows are integers or booleans"),
        (["a"], "BP044 index  index  an index of str32; rows are integers or booleans"),
        ([None], "BP044 index  index  an index of object; rows are integers or booleans"),
        ("ids", "BP044 index  index  str; an int, a slice, a list, an array or a tensor of rows"),
        (True, "BP044 index  index  bool True; an int, a slice, a list, an array or a tensor of rows"),
        (None, "BP044 index  index  None; an int, a slice, a list, an array or a tensor of rows"),
        (1.0, "BP044 index  index  float 1.0; an int, a slice, a list, an array or a tensor of rows"),
    ],
    ids=repr,
)
def test_what_names_no_rows_is_refused(item: Any, line: str) -> None:
    with refuses("select_idxs", line):
        plan_rows("select_idxs", item, FIVE)


def test_the_index_of_the_caller_is_left_as_it_is() -> None:
    given = np.array([-1, 0])

    plan_rows("op", given, FIVE)

    assert given.tolist() == [-1, 0]


def test_the_index_is_moved_to_a_device_once() -> None:
    plan = Rows(index=np.array([2, 0]))

    first = plan.tensor(FIVE, torch.device("meta"))

    assert first.device.type == "meta"
    assert plan.tensor(FIVE, torch.device("meta")) is first
    assert plan.tensor(FIVE, torch.device("cpu")).tolist() == [2, 0]


def test_rows_repeat_in_runs_or_as_a_whole() -> None:
    assert repeat_rows(3, 2, interleave=True).index(3).tolist() == [0, 0, 1, 1, 2, 2]
    assert repeat_rows(3, 2, interleave=False).index(3).tolist() == [0, 1, 2, 0, 1, 2]
    assert repeat_rows(0, 2, interleave=True).count == 0


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ([True, 2], "booleans and numbers in one list; rows are integers or booleans"),
        ([0, [1]], "a list of unequal lists; an index has one axis: the rows"),
        (slice(None, None, 0), "a slice with step 0; a step of 1 or more, or of -1 or less"),
    ],
)
def test_what_numpy_would_take_for_something_else_is_refused(item: object, text: str) -> None:
    with pytest.raises(BatchError) as caught:
        plan_rows("slice", item, 4)
    assert str(caught.value) == f"1 problem in DataProto.slice; nothing was changed\n\n  BP044 index  index  {text}"


@pytest.mark.parametrize("item", [slice(1, 4, 2), [1, 3]])
def test_rows_are_taken_from_whatever_holds_one_by_one(item: Any) -> None:
    plan = plan_rows("op", item, FIVE)

    assert list(plan.among("abcde")) == ["b", "d"]
    assert plan.of(np.arange(FIVE)).tolist() == [1, 3]


def test_a_result_is_made_once_for_the_very_same_sources() -> None:
    plan, made = Rows.span(0, 2), []
    one, other = [1], [1]  # equal, and not the same

    def make() -> list[int]:
        made.append(len(made))
        return [len(made)]

    results = [plan.once((source, None), make) for source in (one, other, one)]

    assert results == [[1], [2], [1]]
    assert results[0] is results[2]
    assert Rows.span(0, 2).once((one, None), make) == [3]
