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
from batchpact.dataproto.entries import from_entries, is_column, stack, to_entries, unstack
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
