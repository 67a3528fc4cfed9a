"""What a batch carries unseen for each of its rows, right through every operation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from batchpact.dataproto.rows import Index, Rows

Mask: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]]"

_NONE: Mapping[str, Mask] = {}


class RowMarks(NamedTuple):
    """What is known of the rows of a batch. The arrays are replaced when something changes and never written into.

    Attributes:
        origin: which row of a stage's input each row came from; None outside a stage.
        pads: which rows are padding; None where none is.
        absent: by field, in which rows it was filled because their part of a concat did not have it.
    """

    origin: Index | None = None
    pads: Mask | None = None
    absent: Mapping[str, Mask] = _NONE

    def take(self, rows: Rows) -> RowMarks:
        """The marks of these rows."""
        return RowMarks(
            None if self.origin is None else rows.of(self.origin),
            None if self.pads is None else rows.of(self.pads),
            {key: rows.of(mask) for key, mask in self.absent.items()} if self.absent else _NONE,
        )

    def joined_by(self, other: RowMarks, gained: Collection[str]) -> RowMarks:
        """The marks of rows that these fields of the same rows were joined to, or replaced in."""
        kept = {key: mask for key, mask in self.absent.items() if key not in gained}
        new = {key: mask for key, mask in other.absent.items() if key in gained}
        return RowMarks(self.origin, other.pads if self.pads is None else self.pads, {**kept, **new} or _NONE)

    def renamed(self, names: Mapping[str, str]) -> RowMarks:
        """The marks of a batch in which these fields have other names."""
        if not self.absent:
            return self
        return self._replace(absent={names.get(key, key): mask for key, mask in self.absent.items()})

    def of_fields(self, keys: Collection[str]) -> RowMarks:
        """The marks of a batch that has only these fields."""
        if not self.absent:
            return self
        return self._replace(absent={key: mask for key, mask in self.absent.items() if key in keys})


UNMARKED = RowMarks()
"""Of most batches nothing is known."""


def marked(mask: Mask | None, rows: int) -> Mask:
    """One boolean for each row, also where nothing is marked."""
    return np.zeros(rows, dtype=bool) if mask is None else mask


def join_marks(parts: Sequence[tuple[RowMarks, int]]) -> RowMarks:
    """The marks of parts that are put one below the other, each with its number of rows."""
    if all(marks is UNMARKED for marks, _ in parts):
        return UNMARKED
    origins = [marks.origin for marks, _ in parts if marks.origin is not None]
    origin = np.concatenate(origins) if len(origins) == len(parts) else None
    pads = None
    if any(marks.pads is not None for marks, _ in parts):
        pads = np.concatenate([marked(marks.pads, rows) for marks, rows in parts])
    filled = {key for marks, _ in parts for key in marks.absent}
    absent = {key: np.concatenate([marked(marks.absent.get(key), rows) for marks, rows in parts]) for key in filled}
    return RowMarks(origin, pads, absent or _NONE)
