"""What operations do to one tensor, in every layout, and the `TensorDict` that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.rows import Rows
from batchpact.schemas.axes import is_jagged, ragged_axis

Value: TypeAlias = "Tensor | TensorDictBase"


def take_all(tensors: Mapping[str, Value], rows: Rows) -> dict[str, Value]:
    """Rows of all tensors of a batch."""
    span = rows.slice
    if span is None:
        return {key: take(value, rows) for key, value in tensors.items()}
    return {
        key: value[span] if type(value) is Tensor and not value.is_nested else take(value, rows)
        for key, value in tensors.items()
    }


def take(value: Value, rows: Rows) -> Value:
    """Rows of a tensor; a view where the rows are a slice."""
    if not isinstance(value, Tensor):
        return value[rows.slice if rows.slice is not None else rows.tensor(len(value), torch.device("cpu"))]
    if is_jagged(value):
        return nested.take(value, rows)
    if value.is_nested:
        return _strided(rows.among(value.unbind(0)), value)
    if rows.slice is not None:
        return value[rows.slice]
    return value.index_select(0, rows.tensor(value.shape[0], cast(torch.device, value.device)))


def cut(value: Value, parts: Sequence[Rows]) -> Sequence[Value]:
    """Consecutive parts of a tensor that make up the whole, as views where the layout has any."""
    if isinstance(value, Tensor) and is_jagged(value):
        return [nested.take(value, rows) for rows in parts]
    if isinstance(value, Tensor) and value.is_nested:
        pieces = value.unbind(0)
        return [_strided(rows.among(pieces), value) for rows in parts]
    return value.split([rows.count for rows in parts])


def cat(values: Sequence[Value], shared: nested.SharedOffsets | None = None) -> Value:
    """Tensors of one layout, one below the other; jagged ones share new offsets if their parts share theirs."""
    first = values[0]
    if isinstance(first, Tensor) and is_jagged(first):
        tensors = [value for value in values if isinstance(value, Tensor)]
        return nested.cat(tensors, {} if shared is None else shared)
    if isinstance(first, Tensor) and first.is_nested:
        return _strided([row for value in values for row in value.unbind(0)], first)
    joined: Value = torch.cat(list(values), dim=0)
    return joined


def of_rows(rows: Sequence[Tensor], axis: int) -> Tensor:
    """Dense rows of different lengths as one nested tensor, which is ragged as `ragged_axes` tells."""
    return nested.of_rows(rows, axis) if axis else _strided(rows, rows[0])


def ragged_axes(tensors: Mapping[str, Value]) -> dict[str, int]:
    """The ragged axis of each nested tensor; 0 stands for a strided one, where every axis of a row may be."""
    return {
        key: ragged_axis(value) if is_jagged(value) else 0
        for key, value in tensors.items()
        if isinstance(value, Tensor) and value.is_nested
    }


def _strided(rows: Sequence[Tensor], like: Tensor) -> Tensor:
    # Not nested_tensor, which leaves the autograd graph.
    return torch.nested.as_nested_tensor(list(rows), dtype=like.dtype, device=like.device)


def clone(value: Value) -> Value:
    """A tensor with values of its own and no graph, for which a gradient is wanted where it was."""
    if not isinstance(value, Tensor):
        return value.clone()
    return value.detach().clone().requires_grad_(value.requires_grad)


def store(tensors: Mapping[str, Value], batch_size: Sequence[int], device: torch.device | None = None) -> TensorDict:
    """A `TensorDict` of tensors that are known to have this batch size and device; its constructor would ask again."""
    size = batch_size if isinstance(batch_size, torch.Size) else torch.Size(batch_size)
    return TensorDict._new_unsafe(dict(tensors), batch_size=size, device=device)  # type: ignore[arg-type]


def items(batch: TensorDictBase | None) -> dict[str, Value]:
    """The tensors of a batch as a plain dict; empty where there is no batch."""
    if type(batch) is TensorDict:
        held = cast("dict[str, Value]", batch._tensordict)  # what items() gives, at a fifth of its cost
        return dict(held)
    return {} if batch is None else cast("dict[str, Value]", dict(batch.items()))
