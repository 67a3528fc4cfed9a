"""Rows: cut into parts, and chosen by an index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.tensordicts.support import NO_AXIS, expected, numbered, refuses, shown, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

# --- cutting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [1, 2, 3, 6])
def test_parts_have_equal_length_and_all_fields(chunks: int) -> None:
    parts = tu.chunk_tensordict(numbered(), chunks)

    size = 6 // chunks
    assert type(parts) is list
    assert [part.batch_size for part in parts] == [(size,)] * chunks
    assert [shown(part) for part in parts] == [expected(list(range(at, at + size))) for at in range(0, 6, size)]


def test_parts_hold_the_fields_of_a_multi_modal_batch() -> None:
    parts = tu.chunk_tensordict(small(), 2)

    assert [part["deep"].shape[1] for part in parts] == [2, 2]
    assert [[row.tolist() for row in part["deep"].unbind()] for part in parts] == [
        [[[1], [2]], [[], []]],
        [[[3, 4], [5, 6]], [[7], [8]]],
    ]
    assert [tu.get(part, "turns") for part in parts] == [[[], [0.5]], [[{"k": 1}], None]]


def test_tensors_of_a_part_are_views_and_the_rest_is_an_own_one() -> None:
    whole = numbered()
    first, second = tu.chunk_tensordict(whole, 2)

    first["x"][0] = 100
    first["j"].values()[0] = 100
    tu.assign_non_tensor(first, k="first")
    first["u"][0] = "first"

    assert whole["x"].tolist() == [100, 1, 2, 3, 4, 5]
    assert whole["j"].values()[0] == 100
    assert tu.get(whole, "k") == tu.get(second, "k") == [0, 1, 2, 3, 4, 5]
    assert tu.get(whole, "u")[0] == [0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lengths", [[2, 0, 3, 1], [2, 2]], ids=str)
def test_nested_tensors_of_every_layout_are_cut_and_put_together(layout: str, lengths: list[int]) -> None:
    whole = LAYOUTS[layout].batch(lengths).to_tensordict()

    parts = tu.chunk_tensordict(whole, 2)
    joined = tu.concat_tensordict(parts)

    half = len(lengths) // 2
    rows = [row.tolist() for row in whole["x"].unbind()]
    assert [[row.tolist() for row in part["x"].unbind()] for part in parts] == [rows[:half], rows[half:]]
    assert [row.tolist() for row in joined["x"].unbind()] == rows
    assert joined["x"].layout == whole["x"].layout
    if joined["x"].layout is torch.jagged:
        assert (joined["x"] + joined["twin"]).values().tolist() == (joined["x"].values() * 3).tolist()


def test_meta_alone_goes_along_with_every_part() -> None:
    assert [shown(part) for part in tu.chunk_tensordict(with_meta(k=1), 2)] == [{"k": ("meta", "1")}] * 2
    no_fields = TensorDict({"k": NonTensorData(data=1)}, batch_size=[4])
    assert [part.batch_size for part in tu.chunk_tensordict(no_fields, 2)] == [(2,)] * 2


def test_further_batch_axes_and_the_device_stay() -> None:
    batch = TensorDict({"x": torch.ones(4, 3, 2)}, batch_size=[4, 3], device="cpu")

    for part in (*tu.chunk_tensordict(batch, 4), tu.index_select_tensor_dict(batch, [0])):
        assert (part.batch_size, part.device) == ((1, 3), torch.device("cpu"))


@pytest.mark.parametrize(
    ("batch", "chunks", "line"),
    [
        (
            numbered(),
            4,
            "BP043 split  chunks  6 rows into 4 parts; parts of equal length; 2 of 6 rows would be left over: 2 pad "
            "rows, or another number of parts",
        ),
        (numbered(), 0, "BP043 split  chunks  0; a whole number, 1 or more"),
        (numbered(), 2.0, "BP043 split  chunks  2.0; a whole number, 1 or more"),
        (TensorDict({"x": torch.ones(4)}, batch_size=[]), 2, NO_AXIS),
        (
            [1, 2],
            2,
            "BP045 store  batch  list of 2; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one",
        ),
    ],
    ids=["left over", "zero", "float", "no axis", "no TensorDict"],
)
def test_what_cannot_be_cut_is_refused(batch: Any, chunks: Any, line: str) -> None:
    with refuses("chunk_tensordict", line):
        tu.chunk_tensordict(batch, chunks)


# --- choosing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indices", "rows"),
    [
        ([1, 3], [1, 3]),
        (torch.tensor([5, 0, 0]), [5, 0, 0]),
        (torch.tensor([2], dtype=torch.int32), [2]),
        (np.array([4, 1]), [4, 1]),
        ([-1, -6], [5, 0]),
        ([True, False, False, True, False, False], [0, 3]),
        (torch.tensor([False] * 5 + [True]), [5]),
        (slice(1, 6, 2), [1, 3, 5]),
        (slice(None, None, -2), [5, 3, 1]),
        ([], []),
        (torch.tensor([], dtype=torch.int64), []),
    ],
    ids=repr,
)
def test_rows_are_chosen_in_every_kind_of_entry(indices: Any, rows: list[int]) -> None:
    chosen = tu.index_select_tensor_dict(numbered(), indices)

    assert shown(chosen) == expected(rows)
    assert chosen.batch_size == (len(rows),)


def test_no_batch_gives_none() -> None:
    assert tu.index_select_tensor_dict(None, [0]) is None  # type: ignore[func-returns-value]


def test_rows_that_are_chosen_twice_are_rows_of_their_own() -> None:
    batch = numbered()

    chosen = tu.index_select_tensor_dict(batch, [0, 0])
    chosen["x"][0], chosen["u"][0] = 9, "nine"

    assert chosen["x"].tolist() == [9, 0]
    assert tu.get(chosen, "u") == ["nine", [0]]
    assert shown(batch) == expected(list(range(6)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_rows_of_every_layout_are_chosen(layout: str, lengths: list[int]) -> None:
    whole = LAYOUTS[layout].batch(lengths).to_tensordict()
    order = [*reversed(range(len(lengths))), *range(len(lengths))]

    chosen = tu.index_select_tensor_dict(whole, order)

    rows = LAYOUTS[layout].rows(lengths)
    assert [row.tolist() for row in chosen["x"].unbind()] == [rows[row] for row in order]
    assert chosen["number"].tolist() == order
    assert tu.get(chosen, "name") == [f"row {row}" for row in order]


def test_the_gradient_flows_through_chosen_rows() -> None:
    values = torch.ones(3, requires_grad=True)
    batch = tensors(2, x=torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 1, 3])))

    tu.index_select_tensor_dict(batch, [1, 1])["x"].values().sum().backward()

    assert values.grad is not None
    assert values.grad.tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    ("batch", "indices", "line"),
    [
        (numbered(), [0, 6], "BP044 index  index  row 6; the batch has 6 rows"),
        (
            numbered(),
            torch.ones(1, 1, dtype=torch.int64),
            "BP044 index  index  an index of 2 axes; an index has one axis: the rows",
        ),
        (numbered(), torch.tensor(1), "BP044 index  index  an index of 0 axes; an index has one axis: the rows"),
        (numbered(), [0.5], "BP044 index  index  an index of float64; rows are integers or booleans"),
        (numbered(), [True], "BP044 index  index  a mask of 1; the batch has 6 rows; a mask has one boolean per row"),
        (with_meta(k=1), [0, 1], "BP044 index  index  row 0; the batch has 0 rows"),
        (TensorDict({"x": torch.ones(4)}, batch_size=[]), [0], NO_AXIS),
        (tu.assign_non_tensor(TensorDict({}, batch_size=[]), u=["a", "b"]), [0], NO_AXIS),
    ],
    ids=["outside", "matrix", "scalar", "float", "mask", "meta alone", "no axis", "column without axis"],
)
def test_an_index_that_does_not_fit_is_refused(batch: Any, indices: Any, line: str) -> None:
    with refuses("index_select_tensor_dict", line):
        tu.index_select_tensor_dict(batch, indices)
