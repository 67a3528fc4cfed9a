"""Jagged nested tensors, row by row on values and offsets, as torch's own operations are missing or wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from batchpact.dataproto.rows import Rows
from batchpact.schemas.axes import offsets_of, ragged_axis


def parts(tensor: Tensor) -> tuple[Tensor, Tensor, int]:
    """Values, offsets and the axis of the values that is ragged; a tensor with holes is made contiguous first."""
    if tensor.lengths() is not None:  # type: ignore[attr-defined]
        tensor = tensor.contiguous()
    return tensor.values(), offsets_of(tensor), ragged_axis(tensor) - 1


def build(values: Tensor, offsets: Tensor, axis: int) -> Tensor:
    """A jagged nested tensor that is ragged on `axis` of its values."""
    return torch.nested.nested_tensor_from_jagged(values, offsets, jagged_dim=axis + 1)


def of_rows(rows: Sequence[Tensor], axis: int) -> Tensor:
    """Dense rows of different lengths as one jagged nested tensor that is ragged on `axis`, counted with the rows."""
    lengths = torch.tensor([0, *(row.shape[axis - 1] for row in rows)], device=rows[0].device)
    return build(torch.cat(list(rows), dim=axis - 1), lengths.cumsum(0), axis - 1)


def take(tensor: Tensor, rows: Rows) -> Tensor:
    """Rows of a jagged nested tensor, in any order and any number of times."""
    values, offsets, axis = parts(tensor)
    length = len(offsets) - 1
    span = rows.slice
    if span is not None and (span.step or 1) == 1:
        start, stop, _ = span.indices(length)
        stop = max(start, stop)
        cut = offsets[start : stop + 1]
        first, last = int(offsets[start]), int(offsets[stop])
        return build(values.narrow(axis, first, last - first), cut - first, axis)
    chosen = rows.tensor(length, offsets.device)
    starts, lengths = offsets[:-1][chosen], offsets.diff()[chosen]
    ends = lengths.cumsum(0, dtype=offsets.dtype)
    total = int(ends[-1]) if len(ends) else 0
    # Position i of the result comes from its row's start plus its place within the row.
    shift = torch.repeat_interleave(starts - (ends - lengths), lengths, output_size=total)
    places = torch.arange(total, device=offsets.device) + shift
    new_offsets = torch.cat([offsets.new_zeros(1), ends])
    return build(values.index_select(axis, places), new_offsets, axis)


def cat(tensors: Sequence[Tensor]) -> Tensor:
    """Jagged nested tensors that are ragged on the same axis, one below the other."""
    pieces = [parts(tensor) for tensor in tensors]
    axis = pieces[0][2]
    lengths = torch.cat([offsets.diff() for _, offsets, _ in pieces])
    new_offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0, dtype=lengths.dtype)])
    return build(torch.cat([values for values, _, _ in pieces], dim=axis), new_offsets, axis)
