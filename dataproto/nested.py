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
from batchpact.schemas.axes import offsets_of, ragged_axis

SharedOffsets: TypeAlias = "dict[tuple[int, ...], Tensor]"
"""The offsets of results, by the identity of those that they were made of; for a single operation."""


def parts(tensor: Tensor, whole: Rows | None = None) -> tuple[Tensor, Tensor, int]:
    """Values, offsets and the axis of the values that is ragged; of a tensor with holes, without the holes.

    Tensors with holes that share their offsets do so without the holes, too, where `whole` is one plan of all rows.
    """
    if _lengths_of(tensor) is not None:
        tensor = take(tensor, whole or Rows.span(0, len(tensor)))
    return tensor.values(), offsets_of(tensor), ragged_axis(tensor) - 1


def build(values: Tensor, offsets: Tensor, axis: int) -> Tensor:
    """A jagged nested tensor that is ragged on `axis` of its values."""
    return torch.nested.nested_tensor_from_jagged(values, offsets, jagged_dim=axis + 1)


def of_rows(rows: Sequence[Tensor], axis: int) -> Tensor:
    """Dense rows of different lengths as one jagged nested tensor that is ragged on `axis`, counted with the rows."""
    lengths = torch.tensor([0, *(row.shape[axis - 1] for row in rows)], device=rows[0].device)
    return build(torch.cat(list(rows), dim=axis - 1), lengths.cumsum(0), axis - 1)


def take(tensor: Tensor, rows: Rows) -> Tensor:
    """Rows of a jagged nested tensor, in any order and any number of times; a view of neighbouring ones."""
    offsets, lengths, axis = offsets_of(tensor), _lengths_of(tensor), ragged_axis(tensor) - 1
    places, new_offsets = rows.once((offsets, lengths), lambda: _places(offsets, lengths, rows))
    values = tensor.values()
    if isinstance(places, Tensor):
        return build(values.index_select(axis, places), new_offsets, axis)
    return build(values.narrow(axis, places.start, len(places)), new_offsets, axis)


def cat(tensors: Sequence[Tensor], shared: SharedOffsets) -> Tensor:
    """Jagged nested tensors that are ragged on the same axis, one below the other."""
    pieces = [parts(tensor) for tensor in tensors]
    axis = pieces[0][2]
    key = tuple(id(source) for tensor in tensors for source in (offsets_of(tensor), _lengths_of(tensor)))
    if key not in shared:
        shared[key] = _from_lengths(torch.cat([offsets.diff() for _, offsets, _ in pieces]))
    return build(torch.cat([values for values, _, _ in pieces], dim=axis), shared[key], axis)


def _lengths_of(tensor: Tensor) -> Tensor | None:
    """The length of each row of a tensor with holes, `[rows]`: there, not every row reaches up to the next one."""
    found: Tensor | None = tensor.lengths()  # type: ignore[attr-defined]  # torch's stubs do not know jagged tensors
    return found


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
    new_offsets = _from_lengths(new_lengths)
    # Position i of the result comes from its row's start plus its place within the row.
    shift = torch.repeat_interleave(
        offsets.index_select(0, chosen) - new_offsets[:-1], new_lengths, output_size=int(new_offsets[-1])
    )
    return torch.arange(len(shift), device=offsets.device) + shift, new_offsets


def _from_lengths(lengths: Tensor) -> Tensor:
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0, dtype=lengths.dtype)])
