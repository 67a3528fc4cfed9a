"""What whoever samples wants to have in the sample: whole fields, or some rows of a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import Tensor

from batchpact.contracts.testing.unmeetable import SampleError, unmeetable
from batchpact.schemas import jagged
from batchpact.schemas.axes import is_jagged, ragged_axis
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column, column

Given: TypeAlias = "Mapping[str | int, object]"
"""By key a whole field: a tensor, a list or an array with one object per row, a meta value or an argument, or None to
leave an optional field out. By number a row: a mapping from keys to that row's values."""

Held: TypeAlias = "Tensor | Column"
"""One value per row."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Values that are given, sorted.

    Attributes:
        whole: by key, what a field is.
        rows: by key, what it is in some rows.
        absent: keys of fields that are left out.
    """

    whole: Mapping[str, object] = field(default_factory=dict)
    rows: Mapping[str, Mapping[int, object]] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, given: Given | None) -> Overrides:
        """Sort what was given.

        Raises:
            SampleError: for a row that is no mapping, or one that overrides a field that is given as a whole.
        """
        whole: dict[str, object] = {}
        rows: dict[str, dict[int, object]] = {}
        for name, value in (given or {}).items():
            if isinstance(name, str):
                whole[name] = value
            elif not isinstance(name, int):
                raise _wrong(repr(name), f"{describe(name)} is no key", "the key of a field, or the number of a row")
            elif not isinstance(value, Mapping):
                raise _wrong(f"row {name}", describe(value), "a mapping from keys to the values of this row")
            else:
                for key, cell in value.items():
                    rows.setdefault(key, {})[name] = cell
        twice = next((key for key in rows if key in whole), None)
        if twice is not None:
            raise _wrong(twice, "it is given as a whole, and by rows", "one of the two")
        absent = frozenset(key for key, value in whole.items() if value is None)
        return cls({key: value for key, value in whole.items() if value is not None}, rows, absent)

    def names(self) -> list[str]:
        """Every key that something is given for."""
        return [*self.whole, *self.rows, *sorted(self.absent)]


def with_cells(key: str, value: Held, cells: Mapping[int, object]) -> Held:
    """A field with some of its rows replaced.

    Raises:
        SampleError: for a row that is not there, or a tensor of another dtype or shape than its row.
    """
    beyond = next((row for row in cells if not 0 <= row < len(value)), None)
    if beyond is not None:
        raise _wrong(key, f"row {beyond} of {len(value)}", "a row of the sample; rows count from 0")
    if not isinstance(value, Tensor):
        rows = list(value)
        for row, cell in cells.items():
            rows[row] = cell
        return column(rows)
    parts = list(value.unbind())
    for row, cell in cells.items():
        old = parts[row]
        if not isinstance(cell, Tensor) or cell.dtype != old.dtype or cell.shape != old.shape:
            raise _wrong(key, f"row {row} is {describe(cell)}", f"{describe(old)}, a tensor without its batch axis")
        parts[row] = cell
    return of_parts(parts, value)


def exchanged(value: Held, other: Held, rows: list[int]) -> Held:
    """A field with some of its rows taken from another draw of it."""
    if not isinstance(value, Tensor) or not isinstance(other, Tensor):
        cells = list(value)
        for row in rows:
            cells[row] = other[row]
        return column(cells)
    if not is_jagged(value):
        made = value.clone()
        made[rows] = other[rows]
        return made
    mine, theirs = value.unbind(), other.unbind()
    return of_parts([theirs[row] if row in rows else part for row, part in enumerate(mine)], value)


def of_parts(parts: list[Tensor], like: Tensor) -> Tensor:
    """Rows as one tensor again, in the layout of another."""
    if is_jagged(like):
        return jagged.of_rows(parts, ragged_axis(like))
    made = like.clone()
    for row, part in enumerate(parts):
        made[row] = part
    return made


def _wrong(field: str, actual: str, expected: str) -> SampleError:
    return SampleError("where overrides are read", [unmeetable(field, actual, expected)])
