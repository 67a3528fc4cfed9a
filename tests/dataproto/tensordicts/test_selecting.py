"""Rows: cut, chosen by an index, gone through in mini-batches, padded and taken off again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.support import jagged, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

NO_AXIS = "BP045 store  batch  a TensorDict without a batch axis; batch_size has the rows first"


def numbered(rows: int = 6) -> TensorDict:
    """Rows that can be told from each other in every kind of entry."""
    return tu.get_tensordict(
        {
            "x": torch.arange(rows),
            "j": jagged(*([row] * (row % 3) for row in range(rows))),
            "u": [[row] for row in range(rows)],
        },
        {"k": list(range(rows))},
    )


def expected(rows: list[int]) -> dict[str, tuple[str, str]]:
    """What these rows of the six look like."""
    return {
        "x": ("tensor", plain_tensor(torch.tensor(rows, dtype=torch.int64))),
        "j": ("tensor", plain_tensor(jagged(*([row] * (row % 3) for row in rows)))),
        "u": ("column", repr([[row] for row in rows])),
        "k": ("meta", repr(list(range(6)))),
    }


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
    ],
    ids=["outside", "matrix", "scalar", "float", "mask", "meta alone", "no axis"],
)
def test_an_index_that_does_not_fit_is_refused(batch: Any, indices: Any, line: str) -> None:
    with refuses("index_select_tensor_dict", line):
        tu.index_select_tensor_dict(batch, indices)


# --- mini-batches -----------------------------------------------------------------------------------------------------


def rows_of(parts: Any) -> list[list[int]]:
    return [part["x"].tolist() for part in parts]


@pytest.mark.parametrize("options", [None, {}, {"shuffle": False}], ids=repr)
def test_the_rows_come_in_their_order_once_for_each_epoch(options: Any) -> None:
    parts = list(tu.make_iterator(numbered(), 2, 2, seed=0, dataloader_kwargs=options))

    assert [shown(part) for part in parts] == [expected(rows) for rows in ([0, 1], [2, 3], [4, 5]) * 2]


def test_a_seed_gives_one_order_in_every_field() -> None:
    def order(seed: int) -> list[TensorDict]:
        return list(
            tu.make_iterator(numbered(), mini_batch_size=3, epochs=2, seed=seed, dataloader_kwargs={"shuffle": True})
        )

    parts = order(1)

    assert rows_of(parts) == rows_of(order(1)) != rows_of(order(2))
    assert sorted(rows_of(parts)[0] + rows_of(parts)[1]) == list(range(6))
    assert rows_of(parts)[:2] != rows_of(parts)[2:]
    assert [shown(part) for part in parts] == [expected(rows) for rows in rows_of(parts)]


def test_a_seed_leaves_the_global_state_of_torch_alone() -> None:
    torch.manual_seed(5)
    undisturbed = torch.rand(1)

    torch.manual_seed(5)
    list(tu.make_iterator(numbered(), 2, 1, seed=3, dataloader_kwargs={"shuffle": True}))

    assert torch.rand(1) == undisturbed


def test_worker_processes_of_the_loader_give_the_same() -> None:
    options = {"num_workers": 1, "multiprocessing_context": "fork"}

    assert rows_of(tu.make_iterator(numbered(), 3, 1, dataloader_kwargs=options)) == [[0, 1, 2], [3, 4, 5]]


def test_there_may_be_nothing_to_go_through() -> None:
    assert list(tu.make_iterator(numbered(), 2, 0)) == []
    assert list(tu.make_iterator(tu.index_select_tensor_dict(numbered(), []), 2, 3)) == []
    assert list(tu.make_iterator(with_meta(k=1), 2, 3)) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"mini_batch_size": 4},
            "BP043 split  mini_batch_size  6 rows in mini-batches of 4; mini-batches of equal size; 2 would be left "
            "over; pad rows fill the last one",
        ),
        ({"mini_batch_size": 0}, "BP043 split  mini_batch_size  0; a whole number, 1 or more"),
        ({"epochs": -1}, "BP043 split  epochs  -1; a whole number, 0 or more"),
        (
            {"dataloader_kwargs": {"batch_size": 3}},
            "BP045 store  dataloader_kwargs  'batch_size'; make_iterator sets these itself",
        ),
        ({"dataloader_kwargs": 1}, "BP045 store  dataloader_kwargs  int 1; a dict of DataLoader's options"),
        ({"tensordict": TensorDict({"x": torch.ones(4)}, batch_size=[])}, NO_AXIS),
    ],
    ids=["left over", "size", "epochs", "taken", "no dict", "no axis"],
)
def test_what_cannot_be_gone_through_is_refused_at_the_call(arguments: dict[str, Any], line: str) -> None:
    with refuses("make_iterator", line):
        tu.make_iterator(**{"tensordict": numbered(), "mini_batch_size": 2, "epochs": 1, **arguments})


# --- padding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("divisor", "rows"),
    [
        (1, [0, 1, 2, 3, 4, 5]),
        (4, [0, 1, 2, 3, 4, 5, 0, 1]),
        (7, [0, 1, 2, 3, 4, 5, 0]),
        (20, [0, 1, 2, 3, 4, 5] * 3 + [0, 1]),
    ],
)
def test_copies_of_the_rows_are_appended_and_taken_off_again(divisor: int, rows: list[int]) -> None:
    batch = numbered()

    padded, pad_size = tu.pad_to_divisor(batch, size_divisor=divisor)
    back = tu.unpad(padded, pad_size=pad_size)

    assert pad_size == len(rows) - 6
    assert padded.batch_size == (len(rows),)
    assert shown(padded) == expected(rows)
    assert shown(back) == shown(batch) == expected(list(range(6)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_rows_of_every_layout_are_padded(layout: str, lengths: list[int]) -> None:
    whole = LAYOUTS[layout].batch(lengths).to_tensordict()

    padded, pad_size = tu.pad_to_divisor(whole, 3)

    rows = LAYOUTS[layout].rows(lengths)
    assert [row.tolist() for row in padded["x"].unbind()] == (rows * 3)[: len(padded)]
    assert (len(padded) % 3, pad_size) == (0, len(padded) - len(lengths))
    assert shown(tu.unpad(padded, pad_size)) == shown(whole)


def test_what_is_padded_is_an_own_one_even_without_pad_rows() -> None:
    batch = numbered()

    padded, pad_size = tu.pad_to_divisor(batch, 3)
    tu.assign_non_tensor(padded, k=0)
    tu.assign_non_tensor(tu.unpad(batch, 0), k=0)

    assert pad_size == 0
    assert tu.get(batch, "k") == [0, 1, 2, 3, 4, 5]


def test_no_row_is_a_multiple_already() -> None:
    for batch in (tu.index_select_tensor_dict(numbered(), []), with_meta(k=1)):
        padded, pad_size = tu.pad_to_divisor(batch, 4)
        assert (len(padded), pad_size) == (0, 0)
        assert shown(tu.unpad(padded, 0)) == shown(batch)


@pytest.mark.parametrize(
    ("function", "arguments", "line"),
    [
        ("pad_to_divisor", (numbered(), 0), "BP043 split  size_divisor  0; a whole number, 1 or more"),
        ("pad_to_divisor", (TensorDict({"x": torch.ones(4)}, batch_size=[]), 2), NO_AXIS),
        ("unpad", (numbered(), -1), "BP043 split  pad_size  -1; a whole number, 0 or more"),
        ("unpad", (numbered(), 7), "BP043 split  pad_size  7 of 6 rows; as many rows at least"),
    ],
    ids=["divisor", "no axis", "negative", "too many"],
)
def test_what_cannot_be_padded_is_refused(function: str, arguments: Any, line: str) -> None:
    with refuses(function, line):
        getattr(tu, function)(*arguments)
