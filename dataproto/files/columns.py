"""Columns and meta cut into pieces, and put together again.

An object that stands in several cells is written once: `index` says then which of the cells that are written each row
has. So an image that belongs to eight rollouts takes its bytes once, and comes back as one object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from batchpact.dataproto.columns import column
from batchpact.dataproto.files import forms
from batchpact.dataproto.files.archive import Piece
from batchpact.dataproto.files.arrays import Flat, array_of
from batchpact.dataproto.files.broken import Broken, first_line
from batchpact.dataproto.files.decoding import decode
from batchpact.dataproto.files.dtypes import numpy_dtype, numpy_name, plain_numpy
from batchpact.dataproto.files.encoding import Encoding, Unencodable
from batchpact.dataproto.files.header import Role
from batchpact.dataproto.files.pickled import pickled
from batchpact.dataproto.files.pieces import Cut, Pieces, array_piece
from batchpact.schemas.stores import Column

_LISTED = 20
"""So many different problems of one column are listed."""

# --- writing ----------------------------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """A value that is not data: what it is, where in its cell it stands, and in which rows (none for meta)."""

    what: str
    path: str = ""
    rows: Sequence[int] = ()


def cut_column(cells: Column, *, allow_pickle: bool) -> Cut | list[Problem]:
    """The pieces of a column, or what in it is not data."""
    if cells.dtype == object:
        return _cut_objects(cells, allow_pickle)
    if not plain_numpy(cells.dtype):
        return [Problem(f"a column of {cells.dtype}")]
    return Cut("dense", {"data": array_piece(cells)}, cells.dtype.str, cells.shape)


def cut_meta(value: object, *, allow_pickle: bool) -> Cut | list[Problem]:
    """The piece of a meta value, or what in it is not data."""
    written = _Cells(allow_pickle)
    try:
        written.add(value)
    except Unencodable as found:
        return [Problem(found.what, found.path)]
    return Cut("value", {"cells": array_piece(written.data)}, pickled=written.pickled)


def _cut_objects(cells: Column, allow_pickle: bool) -> Cut | list[Problem]:
    numbers: dict[int, int] = {}
    distinct: list[object] = []
    index: list[int] = []
    for cell in cells.flat:
        number = numbers.setdefault(id(cell), len(distinct))
        if number == len(distinct):
            distinct.append(cell)
        index.append(number)
    written = _Cells(allow_pickle)
    wrong: dict[tuple[str, str], list[int]] = {}
    for number, cell in enumerate(distinct):
        try:
            written.add(cell)
        except Unencodable as found:
            wrong.setdefault((found.what, found.path), []).append(number)
            if len(wrong) == _LISTED:
                break
    if wrong:
        width = math.prod(cells.shape[1:])
        return [Problem(*what, _rows_of(those, index, width)) for what, those in wrong.items()]
    pieces: dict[Role, Piece] = {"cells": array_piece(written.data), "ends": _numbers(written.ends)}
    if len(distinct) < len(index):
        pieces["index"] = _numbers(index)
    return Cut("objects", pieces, shape=cells.shape, pickled=written.pickled)


def _numbers(values: list[int]) -> Piece:
    return array_piece(np.array(values, dtype=np.int64))


def _rows_of(those: list[int], index: list[int], width: int) -> list[int]:
    """The rows that have one of those cells."""
    found: list[int] = np.unique(np.flatnonzero(np.isin(index, those)) // width).tolist()
    return found


class _Cells:
    """Cells written one behind the other."""

    def __init__(self, allow_pickle: bool) -> None:
        self._allow_pickle = allow_pickle
        self._encoding = Encoding()
        self._data = bytearray()
        self.ends = [0]
        self.pickled = False

    def add(self, value: object) -> None:
        """Write one more cell.

        Raises:
            Unencodable: if it is not data, and is not pickled.
        """
        try:
            node = self._encoding.node(value)
        except Unencodable as found:
            if not self._allow_pickle:
                raise
            node, self.pickled = _pickle(value, found), True
        forms.WRITER.encode_into(node, self._data, len(self._data))
        self.ends.append(len(self._data))

    @property
    def data(self) -> Flat:
        """All of them."""
        found: Flat = np.frombuffer(self._data, dtype=np.uint8)
        return found


def _pickle(value: object, found: Unencodable) -> forms.Pickled:
    """The whole cell as a pickle, as parts of it may refer to one another."""
    try:
        return forms.Pickled(memoryview(pickled(value)))
    except Exception as error:  # a user's class may do anything
        found.what += f" that cannot be pickled: {first_line(error)}"
        raise found from None


# --- reading ----------------------------------------------------------------------------------------------------------


def read_column(pieces: Pieces, *, allow_pickle: bool) -> Column:
    """Some rows of a column, in memory of its own.

    Raises:
        Broken: if the pieces are not those of a column.
    """
    if pieces.field.layout == "objects":
        return _read_objects(pieces, allow_pickle)
    if pieces.field.layout != "dense":
        raise Broken(f"{pieces.field.layout} as a column", "dense or objects")
    sizes, rows = _full_sizes(pieces), pieces.rows
    dtype = numpy_dtype(pieces.dtype)
    pieces.expect("data", numpy_name(dtype), dtype.itemsize, sizes)
    return array_of(pieces.read("data", rows.start, rows.stop), pieces.dtype, (len(rows), *sizes[1:]))


def read_meta(pieces: Pieces, *, allow_pickle: bool) -> object:
    """A meta value.

    Raises:
        Broken: if the piece is not that of a value.
    """
    if pieces.field.layout != "value":
        raise Broken(f"{pieces.field.layout} as a value", "a value")
    data = _cells(pieces, 0, pieces.piece("cells").shape[0])
    return decode(data, [(0, len(data))], allow_pickle=allow_pickle)[0]


def _read_objects(pieces: Pieces, allow_pickle: bool) -> Column:
    sizes, rows = _full_sizes(pieces), pieces.rows
    width = math.prod(sizes[1:])
    first, stop, shared = rows.start * width, rows.stop * width, "index" in pieces.field.pieces
    held = pieces.piece("index").shape[0] if shared else pieces.piece("ends").shape[0] - 1
    if held != pieces.of_rows * width:
        raise Broken(f"{held} cells", f"those of {list(sizes)}")
    index = pieces.numbers("index", first, stop) if shared else np.arange(first, stop)
    if not len(index):
        return column([]).reshape((len(rows), *sizes[1:]))
    low, high = int(index.min()), int(index.max()) + 1
    ends = pieces.numbers("ends", low, high + 1)
    if (ends[:-1] > ends[1:]).any():
        raise Broken("cells that end before they start")
    data = _cells(pieces, int(ends[0]), int(ends[-1]))
    starts = ends - ends[0]
    distinct, index = np.unique(index - low, return_inverse=True)
    spans = zip(starts[distinct].tolist(), starts[distinct + 1].tolist(), strict=True)
    found = column(decode(data, spans, allow_pickle=allow_pickle))
    return found[index].reshape((len(rows), *sizes[1:]))


def _cells(pieces: Pieces, start: int, stop: int) -> Flat:
    pieces.expect("cells", "uint8", 1, pieces.piece("cells").shape[:1])
    return pieces.read("cells", start, stop)


def _full_sizes(pieces: Pieces) -> tuple[int, ...]:
    """The sizes of a column, which has no ragged axis."""
    sizes = tuple(size for size in pieces.sizes if size is not None)
    if len(sizes) < len(pieces.sizes):
        raise Broken(f"shape {list(pieces.sizes)} of a column", "a size for each axis")
    return sizes
