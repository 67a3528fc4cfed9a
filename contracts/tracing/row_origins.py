"""Where rows came from, found by what is in them: containers other than ours do not know it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor

from batchpact.dataproto.entries import take_fields
from batchpact.dataproto.rows import Index, Rows
from batchpact.schemas.equality import equal
from batchpact.schemas.stores import Stores, rows_of

_PLAIN = (bool, int, float, str, bytes)


def shared_keys(before: Stores, after: Stores) -> list[str]:
    """The fields with one value per row that both batches have."""
    return [key for key in (*before.tensors, *before.columns) if key in after.tensors or key in after.columns]


def are_rows_of(before: Stores, after: Stores, origin: Index) -> bool:
    """Whether each field that both have says that the rows of one are these rows of the other."""
    shared, taken = shared_keys(before, after), take_fields(before, Rows(index=origin))
    return bool(shared) and all(equal(taken.find(key), after.find(key)) for key in shared)


def origin_by_values(before: Stores, after: Stores) -> Index | None:
    """The row of one batch that each row of another is.

    Returns:
        None where some field says otherwise, and where it would be chance: all rows are alike, or as many rows as
        before share a single field, which may have been written anew.
    """
    shared = shared_keys(before, after)
    if not rows_of(before) or (rows_of(before) == rows_of(after) and len(shared) < 2):
        return None
    if any(_value(before, key) is _value(after, key) for key in shared):
        return None  # nothing was taken from it
    earlier, later = _marks(before, shared), _marks(after, shared)
    if len(set(earlier)) < 2:
        return None
    first: dict[Hashable, int] = {}
    unused: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for row, mark in enumerate(earlier):
        first.setdefault(mark, row)
        unused[mark].append(row)
    if not all(mark in first for mark in later):
        return None
    origin = np.array([unused[mark].popleft() if unused[mark] else first[mark] for mark in later], dtype=np.int64)
    return origin if are_rows_of(before, after, origin) else None


def _marks(stores: Stores, keys: Sequence[str]) -> list[Hashable]:
    """What tells rows apart, one for each row."""
    return [*zip(*(_marks_of(_value(stores, key), rows_of(stores) or 0) for key in keys), strict=True)]


def _marks_of(value: object, rows: int) -> list[Hashable]:
    if isinstance(value, Tensor) and value.device.type != "meta":
        parts = (part.detach().cpu().contiguous().flatten() for part in value.unbind())
        return [part.view(torch.uint8).numpy().tobytes() for part in parts]
    if isinstance(value, np.ndarray):
        return [cell if isinstance(cell, _PLAIN) else None for cell in value.tolist()]
    return [None] * rows


def _value(stores: Stores, key: str) -> object:
    found = stores.find(key)
    return None if found is None else found[1]
