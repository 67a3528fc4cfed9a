"""Rows: gone through in mini-batches, padded and taken off again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.tensordicts.support import NO_AXIS, expected, numbered, refuses, shown, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

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
