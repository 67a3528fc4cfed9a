"""A batch as the entries of one `TensorDict`, and back: a column is a `NonTensorStack`, a meta value `NonTensorData`.

A stack has a cell for each row, whatever the cells are; the kind of a numeric column goes along with its cells
(tensordict's own `to(device)` and `consolidate` forget it: the column is then one of objects). tensordict 0.10 has no
stack without cells, and a numeric column has none to say its kind: a column without rows may be a `NonTensorData` of
`NoRows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict, TensorDictBase

from batchpact.dataproto.columns import column
from batchpact.dataproto.kinds import OBJECTS, Kind, from_cells, kind_of
from batchpact.dataproto.refusal import refuse_all
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.tensors import Value, take
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.violations import Violation

ColumnEntry: TypeAlias = "NonTensorStack | NonTensorData"

_KIND = "batchpact_column"


@dataclass(frozen=True)
class NoRows:
    """What stands in a `TensorDict` for a column without rows."""

    kind: Kind


def tensordict_of(fields: Stores, size: torch.Size, device: torch.device | None = None) -> TensorDict:
    """A `TensorDict` of this batch size and device that holds the fields."""
    return TensorDict(to_entries(fields, size, device), batch_size=size, device=device)


def to_entries(fields: Stores, size: torch.Size, device: torch.device | None = None) -> dict[str, object]:
    """Fields as a `TensorDict` of this batch size and device holds them."""
    entries: dict[str, object] = dict(fields.tensors)
    for key, cells in fields.columns.items():
        if isinstance(cells, np.ndarray):
            entries[key] = stack(cells, device)
    entries.update({key: meta_entry(value, size, device) for key, value in fields.meta.items()})
    return entries


def from_entries(batch: TensorDictBase) -> Stores:
    """The stores of a `TensorDict`; what an entry is says its type, never its length."""
    stores: tuple[dict[str, object], ...] = ({}, {}, {})
    tensors, columns, meta = stores
    for key, value in batch.items():
        if is_column(value):
            columns[key] = unstack(cast(ColumnEntry, value))
        elif isinstance(value, NonTensorData):
            meta[key] = value.data
        else:
            tensors[key] = value
    return Stores(*stores)


def from_entries_alike(batches: Sequence[TensorDictBase]) -> list[Stores]:
    """The stores of several `TensorDict`s; a column whose kind one of them has forgotten is one of objects in all."""
    held = [from_entries(batch) for batch in batches]
    objects = {
        key for stores in held for key, cells in stores.columns.items() if kind_of(cast(Column, cells)) == OBJECTS
    }

    def alike(key: str, cells: Column) -> Column:
        return column(list(cells)) if key in objects and cells.dtype != object else cells

    return [
        stores._replace(columns={key: alike(key, cast(Column, cells)) for key, cells in stores.columns.items()})
        for stores in held
    ]


def take_fields(fields: Stores, rows: Rows) -> Stores:
    """These rows of all fields; meta has none and is the same for any."""
    return Stores(
        {key: take(cast(Value, value), rows) for key, value in fields.tensors.items()},
        {key: rows.of(cast(Column, cells)) for key, cells in fields.columns.items()},
        fields.meta,
    )


def check_names(operation: str, fields: Stores) -> None:
    """A `TensorDict` has strings as names, and no others.

    Raises:
        BatchError: naming every name that is none.
    """
    odd = [key for key in fields.names() if not isinstance(key, str)]
    if odd:
        expected = "a TensorDict has strings as names"
        wrong = [Violation(code="BP045", field=repr(key), actual=describe(key), expected=expected) for key in odd]
        raise refuse_all(operation, wrong)


def put_entries(batch: TensorDictBase, fields: Stores) -> None:
    """Set fields of a `TensorDict`, in place; what stood under their names is replaced."""
    for key, entry in to_entries(fields, batch.batch_size, batch.device).items():
        batch.set(key, cast(Any, entry))


def is_column(entry: object) -> bool:
    """Whether an entry holds a value for each row."""
    return isinstance(entry, NonTensorStack) or (isinstance(entry, NonTensorData) and isinstance(entry.data, NoRows))


def stack(cells: Column, device: torch.device | None = None) -> ColumnEntry:
    """A column as one entry."""
    kind = kind_of(cells)
    if not len(cells):
        natural = kind == OBJECTS and _holds_empty_stacks()
        return NonTensorStack() if natural else NonTensorData(data=NoRows(kind), batch_size=[0], device=device)
    # A device that is None is not said: saying it makes a cell six times as slow.
    options: dict[str, Any] = {} if device is None else {"device": device}
    if kind != OBJECTS:
        options["_metadata"] = {_KIND: tuple(kind)}  # tensordict's place for such words; its types do not show it
    return NonTensorStack(*[NonTensorData(data=cell, **options) for cell in cells])


def unstack(entry: ColumnEntry) -> Column:
    """The column that an entry holds."""
    if isinstance(entry, NonTensorData):
        return from_cells([], cast(NoRows, entry.data).kind)
    cells = entry.unbind(0)
    kind = _said_kind(cells[0]) if cells else None
    if kind is None or any(_said_kind(cell) != kind for cell in cells):
        kind = OBJECTS
    return from_cells([cell.data if isinstance(cell, NonTensorData) else cell.tolist() for cell in cells], kind)


def meta_entry(value: object, size: torch.Size, device: torch.device | None = None) -> NonTensorData:
    """A value for the whole batch as one entry."""
    return NonTensorData(data=value, batch_size=size, device=device)


@cache
def _holds_empty_stacks() -> bool:
    """Whether this version of tensordict does."""
    try:
        TensorDict({"column": NonTensorStack()}, batch_size=[0])
    except (RuntimeError, LookupError):
        return False
    return True


def _said_kind(cell: object) -> Kind | None:
    """The kind that goes along with a cell."""
    said = getattr(cell, "_metadata", None) if isinstance(cell, NonTensorData) else None
    return Kind(*said[_KIND]) if said and _KIND in said else None
