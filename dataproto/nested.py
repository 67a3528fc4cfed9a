"""Jagged nested tensors, row by row on values and offsets, as torch's own operations are missing or wrong.

torch takes two of them for alike, and adds them, only where they share their offsets. What is made of such tensors by
one operation shares its offsets, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from batchpact.dataproto.rows import Rows
from batchpact.schemas import jagged
from batchpact.schemas.axes import lengths_of, offsets_of, ragged_axis
from batchpact.schemas.jagged import build as build
from batchpact.schemas.jagged import index_of, offsets_of_lengths
from batchpact.schemas.jagged import of_rows as of_rows

SharedOffsets: TypeAlias = "dict[tuple[int, ...], Tensor]"
"""The offsets of results, by the identity of those that they were made of; for a single operation."""


def parts(tensor: Tensor, whole: Rows | None = None) -> tuple[Tensor, Tensor, int]:
    """Values, offsets and the axis of the values that is ragged; of a tensor with holes, without the holes.

    Tensors with holes that share their offsets do so without the holes, too, where `whole` is one plan of all rows.
    """
    if whole is not None and lengths_of(tensor) is not None:
        tensor = take(tensor, whole)
    return jagged.parts(tensor)


def take(tensor: Tensor, rows: Rows) -> Tensor:
    """Rows of a jagged nested tensor, in any order and any number of times; a view of neighbouring ones."""
    offsets, lengths, axis = offsets_of(tensor), lengths_of(tensor), ragged_axis(tensor) - 1
    places, new_offsets = rows.once((offsets, lengths), lambda: _places(offsets, lengths, rows))
    values = tensor.values()
    if isinstance(places, Tensor):
        return build(values.index_select(axis, places), new_offsets, axis)
    return build(values.narrow(axis, places.start, len(places)), new_offsets, axis)


def cat(tensors: Sequence[Tensor], shared: SharedOffsets) -> Tensor:
    """Jagged nested tensors that are ragged on the same axis, one below the other."""
    pieces = [parts(tensor) for tensor in tensors]
    axis = pieces[0][2]
    key = tuple(id(source) for tensor in tensors for source in (offsets_of(tensor), lengths_of(tensor)))
    if key not in shared:
        shared[key] = offsets_of_lengths(torch.cat([offsets.diff() for _, offsets, _ in pieces]))
    return build(torch.cat([values for values, _, _ in pieces], dim=axis), shared[key], axis)


def _places(offsets: Tensor, lengths: Tensor | None, rows: Rows) -> tuple[range | Tensor, Tensor]:
    """Where in the values these rows are, as a range or as an index, and the offsets of what is found there."""
    count = len(offsets) - 1
    span = rows.slice
    if span is not None and (span.step or 1) == 1 and lengths is None:
        start, stop, _ = span.indices(count)
        kept = offsets[start : max(start, stop) + 1]
        return range(int(kept[0]), int(kept[-1])), kept - kept[0]
    chosen = rows.tensor(count, offsets.device)
    new_lengths = (offsets.diff() if lengths is None else lengths).index_select(0, chosen)
    return index_of(offsets.index_select(0, chosen), new_lengths)
