"""Cutting a batch: the rows of each part."""

from __future__ import annotations

import numpy as np

from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.rows import Rows


def check_count(operation: str, name: str, value: object, least: int = 1) -> None:
    """A number of parts, rows or repetitions is an int, mostly of at least 1."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise refuse(operation, "BP043", name, repr(value), f"a whole number, {least} or more")


def chunk_rows(length: int, chunks: int, *, uneven: bool, operation: str = "chunk") -> list[Rows]:
    """The rows of `chunks` parts: equal ones, or with `uneven` ones that differ by a row, the longer ones first."""
    check_count(operation, "chunks", chunks)
    size, rest = divmod(length, chunks)
    if rest and not uneven:
        ways_out = f"chunk({chunks}, uneven=True), " if operation == "chunk" else ""
        ways_out += f"{chunks - rest} pad rows, or another number of parts"
        hint = f"{rest} of {length} rows would be left over: {ways_out}"
        raise refuse(operation, "BP043", "chunks", f"{length} rows into {chunks} parts", "parts of equal length", hint)
    parts, start = [], 0
    for part in range(chunks):
        stop = start + size + (part < rest)
        parts.append(Rows.span(start, stop))
        start = stop
    return parts


def split_rows(length: int, size: int) -> list[Rows]:
    """The rows of parts of `size` rows; the last may be shorter."""
    check_count("split", "split_size", size)
    return [Rows.span(start, min(start + size, length)) for start in range(0, max(length, 1), size)]
