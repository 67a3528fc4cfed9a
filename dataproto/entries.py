"""A batch as the entries of one `TensorDict`, and back: a column is a `NonTensorStack`, a meta value `NonTensorData`.

A stack has a cell for each row, whatever the cells are; the kind of a numeric column goes along with its cells
(tensordict's own `to(device)` forgets it: the column is then one of objects). tensordict 0.10 has no stack without
cells, so that a column without rows may be a `NonTensorData` that says so.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDictBase

from batchpact.dataproto.kinds import OBJECTS, Kind, from_cells, kind_of
from batchpact.schemas.stores import Column, Stores

ColumnEntry: TypeAlias = "NonTensorStack | NonTensorData"

_KIND = "batchpact_column"


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
            columns[key] = unstack(value)
        elif isinstance(value, NonTensorData):
            meta[key] = value.data
        else:
            tensors[key] = value
    return Stores(*stores)


def is_column(entry: object) -> bool:
    """Whether an entry holds a value for each row."""
    return isinstance(entry, NonTensorStack) or _said_kind(entry) is not None


def stack(cells: Column, device: torch.device | None = None) -> ColumnEntry:
    """A column as one entry."""
    kind = kind_of(cells)
    if not len(cells):
        return _without_cells(kind, device)
    said = None if kind == OBJECTS else {_KIND: tuple(kind)}
    return NonTensorStack(*[NonTensorData(data=cell, _metadata=said, device=device) for cell in cells])


def unstack(entry: ColumnEntry) -> Column:
    """The column that an entry holds."""
    if isinstance(entry, NonTensorData):
        return from_cells([], _said_kind(entry) or OBJECTS)
    cells = entry.unbind(0)
    kind = _said_kind(cells[0]) if cells else None
    if kind is None or any(_said_kind(cell) != kind for cell in cells):
        kind = OBJECTS
    return from_cells([cell.data if isinstance(cell, NonTensorData) else cell.tolist() for cell in cells], kind)


def meta_entry(value: object, size: torch.Size, device: torch.device | None = None) -> NonTensorData:
    """A value for the whole batch as one entry."""
    return NonTensorData(data=value, batch_size=size, device=device)


def _without_cells(kind: Kind, device: torch.device | None) -> ColumnEntry:
    if kind == OBJECTS:
        try:
            return NonTensorStack()
        except RuntimeError:  # tensordict 0.10
            pass
    return NonTensorData(data=None, _metadata={_KIND: tuple(kind)}, batch_size=[0], device=device)


def _said_kind(cell: Any) -> Kind | None:
    """The kind that goes along with a cell, or with a column that has none."""
    said = cell._metadata if isinstance(cell, NonTensorData) else None
    return Kind(*said[_KIND]) if said and _KIND in said else None
