"""Tensors of every layout cut into pieces, and put together again."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.files.archive import Piece
from batchpact.dataproto.files.arrays import jagged_of, tensor_of
from batchpact.dataproto.files.broken import Broken
from batchpact.dataproto.files.dtypes import NAMES, torch_dtype
from batchpact.dataproto.files.header import Role
from batchpact.dataproto.files.pieces import Cut, Pieces, array_piece, tensor_piece
from batchpact.dataproto.rows import Rows
from batchpact.schemas.axes import is_jagged, offsets_of
from batchpact.schemas.dtypes import dtype_name

# --- writing ----------------------------------------------------------------------------------------------------------


class TensorCutter:
    """Cuts the tensors of one batch; jagged ones that share their offsets have them written once."""

    def __init__(self, rows: int) -> None:
        self._whole = Rows.span(0, rows)
        self._owners: dict[int, str] = {}

    def cut(self, key: str, value: Tensor) -> Cut:
        """The pieces of a tensor; a dense one that lies contiguous on the CPU is not copied.

        Args:
            key: its name.
            value: dense, jagged or strided nested; it stays as it is.
        """
        detached = value.detach()
        if is_jagged(detached):
            return self._jagged(key, detached)
        if detached.is_nested:
            return _strided(detached)
        return Cut("dense", {"data": tensor_piece(detached)}, dtype_name(value.dtype), tuple(value.shape))

    def _jagged(self, key: str, value: Tensor) -> Cut:
        # Without holes, and without values before the first row and after the last one; taken by one plan, which also
        # keeps the offsets that tensors share.
        taken = nested.take(value, self._whole)
        values, offsets, axis = nested.parts(taken)
        owner = self._owners.setdefault(id(offsets_of(taken)), key)
        rows_first = values.movedim(axis, 0)
        cut = Cut("jagged", {"values": tensor_piece(rows_first)}, dtype_name(value.dtype), offsets=owner)
        if owner == key:
            cut.pieces["offsets"] = tensor_piece(offsets)
        sizes: list[int | None] = [len(value), *rows_first.shape[1:]]
        sizes.insert(axis + 1, None)
        return cut._replace(shape=tuple(sizes))


def _strided(value: Tensor) -> Cut:
    rows = value.unbind(0)
    axes = rows[0].dim() if rows else 0
    sizes = np.array([row.shape for row in rows], dtype=np.int64).reshape(len(rows), axes)
    ends = np.concatenate([[0], sizes.prod(axis=1, dtype=np.int64).cumsum()])
    nothing = torch.empty(0, dtype=value.dtype, device=value.device)
    values = torch.cat([nothing, *(row.reshape(-1) for row in rows)])
    pieces: dict[Role, Piece] = {"values": tensor_piece(values), "ends": array_piece(ends), "sizes": array_piece(sizes)}
    return Cut("strided", pieces, dtype_name(value.dtype))


# --- reading ----------------------------------------------------------------------------------------------------------


class Ragged(NamedTuple):
    """Where the rows of jagged tensors are: from `start` to `stop` in their values, cut by offsets that begin at 0."""

    start: int
    stop: int
    offsets: Tensor


def read_tensor(pieces: Pieces, ragged_of: Callable[[str], Ragged]) -> Tensor:
    """The tensor of some rows of a field, in memory of its own.

    Args:
        pieces: the field.
        ragged_of: gives the rows of jagged tensors, by the name of the field that their offsets stand with.

    Raises:
        Broken: if the pieces are not those of a tensor.
    """
    if pieces.field.layout == "dense":
        return _read_dense(pieces)
    if pieces.field.layout == "jagged":
        return _read_jagged(pieces, ragged_of(pieces.field.offsets or ""))
    if pieces.field.layout == "strided":
        return _read_strided(pieces)
    raise Broken(f"{pieces.field.layout} as a tensor", "dense, jagged or strided")


def read_ragged(pieces: Pieces) -> Ragged:
    """Where some rows of the jagged tensors are whose offsets stand with this field.

    Raises:
        Broken: if these are no offsets.
    """
    name, rows = NAMES.get(pieces.piece("offsets").dtype, ""), pieces.rows
    if name not in ("int32", "int64"):
        raise Broken(f"offsets of {name}", "int32 or int64")
    dtype = torch_dtype(name)
    pieces.expect("offsets", name, dtype.itemsize, (pieces.of_rows + 1,))
    found = tensor_of(pieces.read("offsets", rows.start, rows.stop + 1), name, (len(rows) + 1,))
    start = int(found[0])
    return Ragged(start, int(found[-1]), found - start if start else found)


def _read_dense(pieces: Pieces) -> Tensor:
    sizes, rows = [size for size in pieces.sizes if size is not None], pieces.rows
    pieces.expect("data", pieces.dtype, torch_dtype(pieces.dtype).itemsize, tuple(sizes))
    return tensor_of(pieces.read("data", rows.start, rows.stop), pieces.dtype, (len(rows), *sizes[1:]))


def _read_jagged(pieces: Pieces, ragged: Ragged) -> Tensor:
    sizes = pieces.sizes
    if sizes.count(None) != 1:
        raise Broken(f"shape {list(sizes)}", "one ragged axis")
    row, axis = tuple(size for size in sizes[1:] if size is not None), sizes.index(None) - 1
    total = pieces.piece("values").shape[0]
    pieces.expect("values", pieces.dtype, torch_dtype(pieces.dtype).itemsize, (total, *row))
    data = pieces.read("values", ragged.start, ragged.stop)
    values = tensor_of(data, pieces.dtype, (ragged.stop - ragged.start, *row))
    return jagged_of(values.movedim(0, axis).contiguous(), ragged.offsets, axis)


def _read_strided(pieces: Pieces) -> Tensor:
    dtype, rows = torch_dtype(pieces.dtype), pieces.rows
    held = pieces.piece("sizes").shape
    if held[0] != pieces.of_rows or len(held) != 2:
        raise Broken(f"sizes {list(held)}", "sizes for each row")
    sizes = pieces.numbers("sizes", rows.start, rows.stop, held[1:]).tolist()
    ends = pieces.numbers("ends", rows.start, rows.stop + 1).tolist()
    pieces.expect("values", pieces.dtype, dtype.itemsize, pieces.piece("values").shape[:1])
    lengths = [math.prod(size) for size in sizes]
    cut = lengths == [end - start for start, end in pairwise(ends)]
    if not cut or any(min(size, default=0) < 0 for size in sizes):
        raise Broken("sizes that do not cut the values into rows", "the sizes of each row")
    values = tensor_of(pieces.read("values", ends[0], ends[-1]), pieces.dtype, (ends[-1] - ends[0],))
    found = [part.view(size) for part, size in zip(torch.split(values, lengths), sizes, strict=True)]
    return torch.nested.as_nested_tensor(found, dtype=dtype)
