"""The kind of a column, so that it can be made again of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from batchpact.dataproto.columns import column
from batchpact.schemas.stores import Column


class Kind(NamedTuple):
    """What the cells of a column do not say themselves, in plain values.

    Attributes:
        dtype: numpy's string for the dtype, with its byte order.
        row: the sizes of a row.
    """

    dtype: str
    row: tuple[int, ...]


OBJECTS = Kind("|O", ())
"""One object per row."""


def kind_of(cells: Column) -> Kind:
    """The kind of a column; a structured dtype, which no string says, counts as objects."""
    return OBJECTS if cells.dtype.kind == "V" else Kind(cells.dtype.str, cells.shape[1:])


def from_cells(cells: Sequence[Any], kind: Kind) -> Column:
    """A column of this kind with one row for each cell."""
    if kind == OBJECTS:
        return column(cells)
    made: Column = np.empty((len(cells), *kind.row), dtype=kind.dtype)
    for row, cell in enumerate(cells):
        made[row] = cell
    return made
