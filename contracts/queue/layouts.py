"""What TransferQueue gives back, as it is declared: it makes dense tensors jagged, and jagged ones what rows allow.

Layout comes from the declaration and never from the rows of today. What does not have it is left as it came, and the
boundary says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto.build import columns_of
from batchpact.dataproto.columns import column
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.entries import from_entries
from batchpact.dataproto.tensors import Value, store
from batchpact.schemas import jagged
from batchpact.schemas.axes import is_jagged, ragged_axis
from batchpact.schemas.stores import Stores
from batchpact.schemas.tensor_place import TensorPlace

_KEEPS_SCALARS = ("AsyncSimpleStorageManager", "RayStorageManager")
"""TransferQueue's backends that give a value for each row back as one; others give a row of length 1."""


def batch_of(
    found: TensorDict | None,
    columns: Mapping[str, Mapping[str, Any]],
    tags: Mapping[str, list[object]],
    meta: dict[str, Any],
    rows: int,
    places: Mapping[str, TensorPlace],
    backend: str,
) -> DataProto:
    """A batch of what was fetched.

    Args:
        found: the columns, as TransferQueue gave them.
        columns: what it knows of them.
        tags: the tags that become columns, by name, with a value for each row.
        meta: the meta values by name.
        rows: the number of rows.
        places: the tensors that are declared; others have the layout that they were put in.
        backend: the class of TransferQueue's storage manager.
    """
    held = Stores.empty() if found is None else from_entries(found)
    tensors: dict[str, Value] = {}
    cells = {key: column(values) for key, values in tags.items()}
    cells.update(columns_of(held))
    offsets: dict[str, Tensor] = {}
    for key, value in cast("Mapping[str, Tensor]", held.tensors).items():
        known, place = columns.get(key, {}), places.get(key)
        if known.get("is_non_tensor"):
            cells[key] = column(value.unbind())
            continue
        ragged = place.ragged if place is not None else 1 if known.get("is_nested") else None
        if ragged is None:
            one_each = place is not None and len(place.dims) == 1 and backend not in _KEEPS_SCALARS
            tensors[key] = as_dense(value, one_each=one_each)
        else:
            name = "" if place is None else place.dims[ragged].text
            tensors[key] = _shared(as_jagged(value, ragged), name, offsets)
    return DataProto(store(tensors, (rows,)), cells, meta)


def as_dense(value: Tensor, *, one_each: bool = False) -> Tensor:
    """A tensor as a dense one, `[batch, ...]`; as it is where its rows have different shapes.

    Args:
        value: what TransferQueue gave.
        one_each: whether rows of length 1 stand for one value each.
    """
    if not value.is_nested:
        return value
    if not (is_jagged(value) and ragged_axis(value) == 1):
        rows = value.unbind()
        return torch.stack(rows) if len({row.shape for row in rows}) == 1 else value
    values, offsets, _ = jagged.parts(value)
    count, length = len(offsets) - 1, int(offsets[1])
    if len(values) != count * length or not bool((offsets.diff() == length).all()):
        return value
    return (
        values if one_each and length == 1 and values.dim() == 1 else values.reshape(count, length, *values.shape[1:])
    )


def as_jagged(value: Tensor, axis: int) -> Tensor:
    """A tensor as a jagged one that is ragged on this axis; as it is where its rows do not fit together so."""
    if is_jagged(value) and ragged_axis(value) == axis:
        return value
    rows = value.unbind()
    others = {(*row.shape[: axis - 1], *row.shape[axis:]) for row in rows if row.dim() >= axis}
    fits = len(others) == 1 and len({row.dim() for row in rows}) == 1
    return jagged.of_rows(rows, axis) if fits else value


def _shared(value: Tensor, name: str, offsets: dict[str, Tensor]) -> Tensor:
    """The tensor on the offsets of the first one with this ragged dim: torch adds only what shares them."""
    if not name or not is_jagged(value):
        return value
    values, own, axis = jagged.parts(value)
    first = offsets.setdefault(name, own)
    return jagged.build(values, first, axis) if first is not own and torch.equal(first, own) else value
