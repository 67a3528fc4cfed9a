"""A field cut into pieces, and the pieces of a field as they are read again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from batchpact.dataproto.files.archive import Archive, Piece
from batchpact.dataproto.files.arrays import Flat, array_of, flat_array, flat_tensor
from batchpact.dataproto.files.broken import Broken
from batchpact.dataproto.files.dtypes import ITEM_BYTES, Shape, numpy_name, standing
from batchpact.dataproto.files.header import Layout, Role, SavedField, SavedPiece
from batchpact.schemas.dtypes import dtype_name
from batchpact.schemas.text import count


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


@dataclass(frozen=True)
class Pieces:
    """The pieces of one field of an open file.

    Attributes:
        archive: the file.
        field: what its header says of the field.
        rows: the rows that are read.
        of_rows: how many rows the batch has.
    """

    archive: Archive
    field: SavedField
    rows: range
    of_rows: int

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The sizes of the whole field; it has the rows of the batch.

        Raises:
            Broken: if it has others.
        """
        shape = self.field.shape or ()
        if not shape or shape[0] != self.of_rows:
            raise Broken(f"shape {list(shape)}", f"{count(self.of_rows, 'row')}, as the batch has")
        return shape

    @property
    def dtype(self) -> str:
        """The name of its dtype.

        Raises:
            Broken: if it has none.
        """
        if self.field.dtype is None:
            raise Broken("a field without a dtype")
        return self.field.dtype

    def piece(self, role: Role) -> SavedPiece:
        """What the header says of a piece.

        Raises:
            Broken: if the field has no such piece.
        """
        found = self.field.pieces.get(role)
        if found is None:
            raise Broken(f"a field without its {role}")
        return found

    def expect(self, role: Role, name: str, itemsize: int, shape: Shape) -> None:
        """A piece holds elements of this dtype and shape.

        Raises:
            Broken: if it does not.
        """
        piece = self.piece(role)
        if (piece.dtype, piece.shape) != standing(name, itemsize, shape):
            raise Broken(f"{role} {piece.dtype}{list(piece.shape)}", f"those of {name}{list(shape)}")

    def read(self, role: Role, start: int, stop: int) -> Flat:
        """The bytes from `start` to `stop` on the first axis of a piece, verified, in memory of their own.

        Raises:
            Broken: if they are not there, or damaged.
        """
        piece = self.piece(role)
        if not 0 <= start <= stop <= piece.shape[0]:
            raise Broken(f"{role} {start} to {stop} of {piece.shape[0]}", "a range within them")
        width = ITEM_BYTES[piece.dtype] * math.prod(piece.shape[1:])
        return self.archive.read(self.field.entry(role), start * width, stop * width, piece.checksums)

    def numbers(self, role: Role, start: int, stop: int, row: Shape = ()) -> np.ndarray:
        """The int64 numbers from `start` to `stop` on the first axis of a piece.

        Raises:
            Broken: if they are not there, or none.
        """
        self.expect(role, "int64", 8, (self.piece(role).shape[0], *row))
        return array_of(self.read(role, start, stop), "<i8", (stop - start, *row))
