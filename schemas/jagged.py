"""Jagged nested tensors as values and offsets: taken apart, made of rows, and put together again.

torch takes two of them for alike, and adds them, only where they share their offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from batchpact.schemas.axes import lengths_of, offsets_of, ragged_axis


def build(values: Tensor, offsets: Tensor, axis: int) -> Tensor:
    """A jagged nested tensor that is ragged on `axis` of its values."""
    return torch.nested.nested_tensor_from_jagged(values, offsets, jagged_dim=axis + 1)


def of_rows(rows: Sequence[Tensor], axis: int) -> Tensor:
    """Dense rows of different lengths as one jagged nested tensor that is ragged on `axis`, counted with the rows."""
    lengths = torch.tensor([row.shape[axis - 1] for row in rows], device=rows[0].device)
    return build(torch.cat(list(rows), dim=axis - 1), offsets_of_lengths(lengths), axis - 1)


def like(tensor: Tensor, values: Tensor) -> Tensor:
    """Other values in the rows of a jagged nested tensor, with its offsets."""
    return build(values, offsets_of(tensor), ragged_axis(tensor) - 1)


def parts(tensor: Tensor) -> tuple[Tensor, Tensor, int]:
    """Values, offsets and the axis of the values that is ragged; of a tensor with holes, without the holes."""
    values, offsets, axis = tensor.values(), offsets_of(tensor), ragged_axis(tensor) - 1
    lengths = lengths_of(tensor)
    if lengths is None:
        return values, offsets, axis
    index, offsets = index_of(offsets[:-1], lengths)
    return values.index_select(axis, index), offsets, axis


def index_of(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Where in the values the rows of these starts and lengths are, and the offsets of what is found there."""
    offsets = offsets_of_lengths(lengths)
    # Position i of the result comes from its row's start plus its place within the row.
    shift = torch.repeat_interleave(starts - offsets[:-1], lengths, output_size=int(offsets[-1]))
    return torch.arange(len(shift), device=offsets.device) + shift, offsets


def offsets_of_lengths(lengths: Tensor) -> Tensor:
    """Where rows of these lengths start, and where the last one ends, `[rows + 1]`."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0, dtype=lengths.dtype)])
