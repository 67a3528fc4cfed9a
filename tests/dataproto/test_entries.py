"""Columns and meta as the entries of a TensorDict: total, and back again in their kind (P2, P3, P4)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import column, difference
from batchpact.dataproto.entries import (
    from_entries,
    from_entries_alike,
    is_column,
    put_entries,
    stack,
    take_fields,
    to_entries,
    unstack,
)
from batchpact.dataproto.rows import plan_rows
from batchpact.schemas.stores import Stores
from tests.dataproto.carriers.kinds import needs_columns_without_rows
from tests.dataproto.test_kinds import COLUMNS


def held(columns: dict[str, Any], rows: int) -> TensorDict:
    size = torch.Size([rows])
    return TensorDict(to_entries(Stores({}, columns, {"three": [1, 2, 3]}), size), batch_size=size)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [3, 1, 0])
def test_a_column_comes_back_in_its_kind(name: str, rows: int) -> None:
    given = COLUMNS[name][:rows]
    batch = held({"c": given}, len(given))

    for received in (batch, pickle.loads(pickle.dumps(batch)), batch.clone()):
        stores = from_entries(received)
        made: Any = stores.columns["c"]
        assert (made.dtype, made.shape) == (given.dtype, given.shape)
        assert repr(list(made)) == repr(list(given))
        assert stores.meta == {"three": [1, 2, 3]}


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (lambda td: td[:2], [0, 1]),
        (lambda td: td[torch.tensor([2, 0])], [2, 0]),
        (lambda td: td.chunk(3)[1], [1]),
        (lambda td: torch.cat([td, td[:1]]), [0, 1, 2, 0]),
        pytest.param(lambda td: td[:0], [], marks=needs_columns_without_rows),
    ],
)
def test_a_numeric_column_keeps_its_kind_through_operations_of_tensordict(
    change: Callable[[TensorDict], TensorDict], rows: list[int]
) -> None:
    batch = held({"f32": COLUMNS["f32"], "matrix": COLUMNS["matrix"]}, 3)

    columns: Any = from_entries(change(batch)).columns

    if rows:  # a slice without rows has no cell to say it
        assert difference(columns["f32"], COLUMNS["f32"][rows]) is None
        assert difference(columns["matrix"], COLUMNS["matrix"][rows]) is None
    assert [len(cells) for cells in columns.values()] == [len(rows)] * 2


def test_to_a_device_forgets_the_kind_and_no_value() -> None:
    made: Any = from_entries(held({"c": np.array([1.5, 2.5], dtype=np.float32)}, 2).to("cpu")).columns["c"]

    assert made.tolist() == [1.5, 2.5]
    assert [type(cell) for cell in made] == [np.float32] * 2


def test_cells_of_different_kinds_make_an_object_column() -> None:
    cells = [*stack(np.array([1.5])).unbind(0), *stack(np.array([1])).unbind(0)]

    assert unstack(NonTensorStack(*cells)).tolist() == [1.5, 1]
    assert unstack(NonTensorStack(*cells)).dtype == object


def test_stacks_of_stacks_have_lists_as_cells() -> None:
    inner = [NonTensorStack("a", "b"), NonTensorStack("c", "d")]

    assert unstack(NonTensorStack(*inner)).tolist() == [["a", "b"], ["c", "d"]]


def test_what_an_entry_is_does_not_depend_on_its_length() -> None:
    assert is_column(stack(column("abc")))
    assert is_column(stack(column("")))
    assert is_column(stack(np.empty(0)))
    assert not is_column(NonTensorData(data=[1, 2, 3], batch_size=[3]))
    assert not is_column(torch.arange(3))


def test_the_device_of_the_batch_is_the_one_of_its_entries() -> None:
    device = torch.device("cpu")
    entries = to_entries(Stores({"x": torch.ones(2)}, {"c": np.ones(2)}, {"k": 1}), torch.Size([2]), device)

    batch = TensorDict(entries, batch_size=[2], device=device)

    assert from_entries(batch).columns["c"].dtype == np.float64  # type: ignore[attr-defined]


def test_a_kind_that_one_of_several_has_forgotten_counts_for_none() -> None:
    floats, ints = np.array([0.5, 1.5], dtype=np.float32), np.arange(2)
    whole = held({"c": floats, "d": ints}, 2)
    forgotten = held({"c": column(list(floats)), "d": ints}, 2)

    for made in from_entries_alike([whole, forgotten]):
        assert isinstance(made.columns["c"], np.ndarray) and isinstance(made.columns["d"], np.ndarray)
        assert (made.columns["c"].dtype, made.columns["d"].dtype) == (object, ints.dtype)
        assert [type(cell) for cell in made.columns["c"]] == [np.float32] * 2
    assert [type(column) for column in from_entries_alike([whole])[0].columns.values()] == [np.ndarray] * 2
    assert from_entries_alike([whole])[0].columns["c"].dtype == np.float32  # type: ignore[attr-defined]


def test_rows_are_taken_of_tensors_and_columns_and_meta_is_the_same() -> None:
    meta = {"three": [1, 2, 3]}

    taken = take_fields(Stores({"x": torch.arange(3)}, {"c": column("abc")}, meta), plan_rows("op", [2, 0], 3))

    assert (taken.tensors["x"].tolist(), list(taken.columns["c"])) == ([2, 0], ["c", "a"])  # type: ignore[attr-defined,call-overload]
    assert taken.meta is meta


def test_fields_are_set_in_place_whatever_stood_there() -> None:
    batch = held({"c": column("ab")}, 2)

    put_entries(batch, Stores({"three": torch.ones(2)}, {"late": column([[], None])}, {"c": 0.5}))

    stores = from_entries(batch)
    assert [set(store) for store in stores[:3]] == [{"three"}, {"late"}, {"c"}]
    assert stores.meta == {"c": 0.5}
