"""A batch before a call and after it: what happened to its rows, and which fields are new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from batchpact.contracts.tracing.row_origins import are_rows_of, origin_by_values
from batchpact.dataproto.entries import take_fields
from batchpact.dataproto.rows import Index, Rows
from batchpact.schemas.equality import equal
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import RowsSpec
from batchpact.schemas.stores import Stores, rows_of


def moved_rows(before: Stores, after: Stores, origin: Index | None) -> tuple[RowsSpec, Index | None]:
    """What happened to the rows, and which input row each one came from, where that is known."""
    rows, now = rows_of(before), rows_of(after)
    if rows is None or now is None:
        return RowsSpec(), None
    same = np.arange(rows)
    repeated = same.repeat(now // rows) if rows and now and now % rows == 0 else None
    if origin is None and repeated is not None and now > rows and are_rows_of(before, after, repeated):
        origin = repeated
    elif origin is None:
        origin = origin_by_values(before, after)
    if origin is None:
        return (RowsSpec(), same) if rows == now else (RowsSpec(kind="new"), None)
    if np.array_equal(origin, same):
        return RowsSpec(), origin
    if rows and repeated is not None and np.array_equal(origin, repeated):
        return RowsSpec(kind="repeat", times=now // rows), origin
    return RowsSpec(kind="permute" if np.array_equal(np.sort(origin), same) else "select"), origin


def changes(before: Stores, after: Stores, origin: Index | None) -> Stores:
    """The fields of a batch that are not those of another, in its rows as they are now."""
    found: dict[PlacementName, dict[str, object]] = {"tensor": {}, "non_tensor": {}, "meta": {}, "arg": {}}
    for placement, key, value in _new(before, after, origin):
        found[placement][key] = value
    return Stores(found["tensor"], found["non_tensor"], found["meta"])


def _new(before: Stores, after: Stores, origin: Index | None) -> Iterator[tuple[PlacementName, str, object]]:
    unmoved = origin is not None and np.array_equal(origin, np.arange(rows_of(before) or 0))
    taken = before if unmoved else Stores({}, {}, before.meta) if origin is None else _taken(before, origin)
    for placement, store in after.by_placement():
        held: Mapping[str, object] = taken.store(placement)
        for key, value in store.items():
            if key not in held or not (held[key] is value or equal(held[key], value)):
                yield placement, key, value


def _taken(before: Stores, origin: Index) -> Stores:
    return take_fields(before, Rows(index=origin)) if rows_of(before) else before
