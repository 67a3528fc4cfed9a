"""A field cut into pieces, and the pieces of a field as they are read again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from batchpact.dataproto.files.archive import Archive, Piece
from batchpact.dataproto.files.arrays import Flat, array_of, flat_array, flat_tensor, tensor_of
from batchpact.dataproto.files.broken import Broken
from batchpact.dataproto.files.dtypes import BYTES, NAMES, Shape, numpy_name, standing
from batchpact.dataproto.files.header import Layout, Role, SavedField, SavedPiece
from batchpact.schemas.dtypes import dtype_name


class Cut(NamedTuple):
    """A field cut into pieces; `SavedField` says what the words mean."""

    layout: Layout
    pieces: dict[Role, Piece]
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    offsets: str | None = None
    pickled: bool = False


def tensor_piece(tensor: Tensor) -> Piece:
    """The piece that a dense tensor is."""
    return Piece(*standing(dtype_name(tensor.dtype), tensor.itemsize, tuple(tensor.shape)), flat_tensor(tensor))


def array_piece(array: np.ndarray) -> Piece:
    """The piece that an array is."""
    return Piece(*standing(numpy_name(array.dtype), array.itemsize, array.shape), flat_array(array))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of one field of an open file.

    Attributes:
        field: what the header says of it.
        rows: the rows that are read.
        of_batch: how many rows the batch has.
    """

    field: SavedField
    rows: range
    of_batch: int
    _archive: Archive

    def piece(self, role: Role) -> SavedPiece:
        """What the header says of a piece.

        Raises:
            Broken: if the field has no such piece.
        """
        found = self.field.pieces.get(role)
        if found is None:
            raise Broken(f"a field without its {role}")
        return found

    def tensor(self, role: Role, dtype: str, row: Shape, start: int, stop: int) -> Tensor:
        """Elements `start` to `stop` of the first axis of a piece, as a tensor of its own; `row` are its other sizes.

        Raises:
            Broken: if the piece does not hold such elements.
        """
        return tensor_of(self.bytes(role, start, stop), dtype, (stop - start, *row))
