"""Where a batch is cut into parts: into equal ones as far as possible, and never through a declared group."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from batchpact.contracts.boundary import Boundary
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.splitting import chunk_rows
from batchpact.schemas.keys import RowKey, row_keys, shown_key
from batchpact.schemas.record import FieldSpec


def group_fields(boundary: Boundary) -> list[FieldSpec]:
    """The fields by which rows belong together for the stage: those that its Reads declare `Group()`."""
    return [field for field in boundary.spec.reads.fields if field.role == "group"]


def cuts(boundary: Boundary, data: DataProto, parts: int) -> list[Rows]:
    """The rows of each part, in their order; parts without a row are left out.

    Args:
        boundary: the contract, whose groups stay whole: the parts are then as equal as the groups allow.
        data: what travels.
        parts: how many are wanted.

    Raises:
        BatchError: if the rows of a group are not next to each other.
    """
    rows = len(data)
    even = chunk_rows(rows, parts, uneven=True)
    fields = group_fields(boundary)
    keys = row_keys(fields, data.stores()) if parts > 1 else None
    if keys is None:
        return [part for part in even if part.count]
    starts = [row for row in range(rows) if row == 0 or keys[row] != keys[row - 1]]
    _check_whole(boundary, ", ".join(field.key for field in fields), keys, starts)
    possible = np.array([*starts, rows])
    wanted = np.cumsum([part.count for part in even])[:-1]
    chosen = possible[np.abs(possible[None, :] - wanted[:, None]).argmin(axis=1)]
    ends = np.unique([0, *chosen, rows]).tolist()
    return [Rows.span(start, stop) for start, stop in pairwise(ends)]


def _check_whole(boundary: Boundary, name: str, keys: list[RowKey], starts: list[int]) -> None:
    first: dict[RowKey, int] = {}
    for row in starts:
        if keys[row] in first:
            actual = f"{shown_key(keys[row])} in row {first[keys[row]]} and again in row {row}"
            expected = "the rows of a group next to each other, as they go to one worker"
            hint = "put them in order first; a stage that looks at each row alone needs no Group() in its Reads"
            raise refuse(f"WorkerGroup.{boundary.name}", "BP043", name, actual, expected, hint)
        first[keys[row]] = row
