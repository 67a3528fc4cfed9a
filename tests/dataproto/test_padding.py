"""Pad rows: any length and divisor, marked, found again in any order, the caller's batch left alone (S2 to S4)."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor, unpad_dataproto
from tests.dataproto.support import batches, function_refuses, jagged, law, plain, refuses, small


def counted(rows: int) -> DataProto:
    return DataProto.from_dict({"x": torch.arange(rows)}, {"name": [f"n{row}" for row in range(rows)]}, {"k": [1]})


def rows_of(data: DataProto) -> list[int]:
    assert data.batch is not None
    assert [f"n{row}" for row in data.batch["x"].tolist()] == list(data.non_tensor_batch["name"])
    return data.batch["x"].tolist()  # type: ignore[no-any-return]


# --- to a divisor -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "divisor", "padded_rows"),
    [
        (3, 8, [0, 1, 2, 0, 1, 2, 0, 1]),
        (3, 2, [0, 1, 2, 0]),
        (1, 3, [0, 0, 0]),
        (5, 4, [0, 1, 2, 3, 4, 0, 1, 2]),
        (4, 2, [0, 1, 2, 3]),
        (4, 4, [0, 1, 2, 3]),
        (3, 1, [0, 1, 2]),
        (0, 8, []),
    ],
)
def test_the_rows_are_copied_over_and_over(rows: int, divisor: int, padded_rows: list[int]) -> None:
    data = counted(rows)

    padded, pad_size = pad_dataproto_to_divisor(data, divisor)

    assert rows_of(padded) == padded_rows
    assert pad_size == len(padded_rows) - rows
    assert padded.pad_mask.tolist() == [False] * rows + [True] * pad_size
    assert rows_of(unpad_dataproto(padded, pad_size)) == list(range(rows))


@pytest.mark.parametrize("divisor", [3, 2], ids=["padded", "a multiple already"])
def test_the_callers_batch_is_untouched(divisor: int) -> None:
    data = counted(4)
    before = plain(data)

    padded, _ = pad_dataproto_to_divisor(data, divisor)
    padded.meta_info["late"] = 1
    padded.non_tensor_batch["late"] = column(range(len(padded)))
    assert padded.batch is not None
    padded.batch["later"] = torch.arange(len(padded))

    assert plain(data) == before
    assert data.pad_mask.tolist() == [False] * 4


@given(batches(), st.integers(1, 9))
@law
def test_whatever_is_padded_comes_back(data: DataProto, divisor: int) -> None:
    before = plain(data)

    padded, pad_size = pad_dataproto_to_divisor(data, divisor)

    assert len(padded) == len(data) + pad_size
    assert len(padded) % divisor == 0
    assert pad_size < divisor
    assert plain(unpad_dataproto(padded, pad_size)) == plain(data) == before


@given(st.integers(1, 5), st.integers(1, 9), st.data())
@law
def test_pad_rows_are_found_in_any_order(rows: int, divisor: int, data: st.DataObject) -> None:
    padded, pad_size = pad_dataproto_to_divisor(counted(rows), divisor)
    order = data.draw(st.permutations(range(len(padded))))

    padded.reorder(order)

    assert rows_of(unpad_dataproto(padded, pad_size)) == [row for row in order if row < rows]


def test_marks_go_through_chunk_concat_pickling_and_union() -> None:
    padded, pad_size = pad_dataproto_to_divisor(counted(3), 4)

    parts = [pickle.loads(pickle.dumps(part)) for part in padded.chunk(2)]
    joined = DataProto.concat(parts[::-1])
    fresh = DataProto.from_dict({"y": torch.arange(4)})
    fresh.union(joined)

    assert joined.pad_mask.tolist() == [False, True, False, False]
    assert rows_of(unpad_dataproto(fresh, pad_size)) == [2, 0, 1]


def test_a_batch_that_is_padded_twice_is_unpadded_twice() -> None:
    once, first = pad_dataproto_to_divisor(counted(3), 2)
    twice, second = pad_dataproto_to_divisor(once, 3)

    assert (first, second) == (1, 2)
    assert twice.pad_mask.tolist() == [False, False, False, True, True, True]
    inner = unpad_dataproto(twice, second)
    assert rows_of(inner) == [0, 1, 2, 0]
    assert inner.pad_mask.tolist() == [False, False, False, True]
    assert rows_of(unpad_dataproto(inner, first)) == [0, 1, 2]


def test_a_result_that_carries_no_marks_loses_its_last_rows() -> None:
    """A worker that makes its result anew does not know of the padding."""
    made = counted(4)

    assert rows_of(unpad_dataproto(made, 1)) == [0, 1, 2]
    assert rows_of(unpad_dataproto(made, 4)) == []
    assert rows_of(made) == [0, 1, 2, 3]


def test_what_is_unpadded_carries_no_marks() -> None:
    padded, pad_size = pad_dataproto_to_divisor(counted(3), 2)

    assert unpad_dataproto(padded, pad_size)._marks.pads is None
    assert unpad_dataproto(padded, 0).pad_mask.tolist() == [False, False, False, True]


def test_pad_rows_can_be_taken_out_by_their_mask() -> None:
    padded, _ = pad_dataproto_to_divisor(counted(3), 8)

    assert rows_of(padded[~padded.pad_mask]) == [0, 1, 2]


def test_the_mask_is_an_array_of_its_own() -> None:
    padded, _ = pad_dataproto_to_divisor(counted(1), 2)

    padded.pad_mask[:] = False

    assert padded.pad_mask.tolist() == [False, True]


def test_jagged_rows_are_copied() -> None:
    padded, _ = pad_dataproto_to_divisor(DataProto.from_dict({"x": jagged([1, 2], [], [3])}), 5)

    assert padded.batch is not None
    assert [row.tolist() for row in padded.batch["x"].unbind(0)] == [[1, 2], [], [3], [1, 2], []]


def test_a_batch_of_nothing_is_a_multiple_of_everything() -> None:
    padded, pad_size = pad_dataproto_to_divisor(DataProto(meta_info={"k": 1}), 8)

    assert (len(padded), pad_size, padded.meta_info) == (0, 0, {"k": 1})


# --- refused ----------------------------------------------------------------------------------------------------------


def test_pad_rows_that_are_gone_cannot_be_removed() -> None:
    padded, pad_size = pad_dataproto_to_divisor(counted(3), 8)

    with function_refuses(
        "unpad_dataproto",
        "BP043 split  pad_size  1 pad row of 4 rows; a batch with the 5 pad rows that are to be removed; rows were "
        "taken out since it was padded: data[~data.pad_mask] removes the pad rows that are left",
    ):
        unpad_dataproto(padded[:4], pad_size)
    with function_refuses(
        "unpad_dataproto",
        "BP043 split  pad_size  2 rows; a batch with the 5 pad rows that are to be removed",
    ):
        unpad_dataproto(counted(2), 5)


@pytest.mark.parametrize("size", [-1, 1.0, True, None, "2"], ids=repr)
def test_a_pad_size_is_a_whole_number(size: Any) -> None:
    with function_refuses("unpad_dataproto", f"BP043 split  pad_size  {size!r}; a whole number, 0 or more"):
        unpad_dataproto(counted(2), size)


@pytest.mark.parametrize("divisor", [0, -2, 2.0, True], ids=repr)
def test_a_divisor_is_a_whole_number(divisor: Any) -> None:
    with function_refuses(
        "pad_dataproto_to_divisor", f"BP043 split  size_divisor  {divisor!r}; a whole number, 1 or more"
    ):
        pad_dataproto_to_divisor(counted(2), divisor)


@pytest.mark.parametrize("function", [pad_dataproto_to_divisor, unpad_dataproto], ids=lambda f: f.__name__)
def test_something_that_is_no_batch_is_refused(function: Any) -> None:
    with function_refuses(
        function.__name__,
        "BP045 store  data  TensorDict; a DataProto; DataProto.from_verl(x) and DataProto.from_tensordict(x) make one",
    ):
        function(TensorDict({"x": torch.arange(2)}, batch_size=[2]), 2)


# --- one row, in place ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("candidate", "row"), [("", 3), ("last", 3), ("first", 0)])
def test_one_row_is_appended_in_place(candidate: str, row: int) -> None:
    data = counted(4)
    meta = data.meta_info

    assert data.padding(2, candidate) is None  # type: ignore[func-returns-value]

    assert rows_of(data) == [0, 1, 2, 3, row, row]
    assert data.pad_mask.tolist() == [False] * 4 + [True] * 2
    assert data.meta_info is meta
    assert rows_of(unpad_dataproto(data, 2)) == [0, 1, 2, 3]


def test_no_padding_changes_nothing() -> None:
    data = DataProto()

    data.padding(0)

    assert (len(data), data._marks.pads) == (0, None)


@pytest.mark.parametrize(
    ("rows", "arguments", "line"),
    [
        (0, (2,), "BP043 split  padding_size  the batch has no row to copy; at least one row"),
        (4, (-1,), "BP043 split  padding_size  -1; a whole number, 0 or more"),
        (4, (2, "frist"), "BP043 split  padding_candidate  'frist'; 'first' or 'last'"),
    ],
)
def test_a_padding_that_is_refused_changes_nothing(rows: int, arguments: tuple[Any, ...], line: str) -> None:
    data = small()[:rows]
    before = plain(data)

    with refuses("padding", line):
        data.padding(*arguments)

    assert plain(data) == before
    assert data._marks.pads is None


def test_a_mask_without_padding_is_all_false() -> None:
    assert small().pad_mask.tolist() == [False] * 4
    assert small().pad_mask.dtype == np.bool_
