"""What operations do to one tensor, in every layout, and the `TensorDict` that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.rows import Rows
from batchpact.schemas.axes import is_jagged

Value: TypeAlias = "Tensor | TensorDictBase"


def take_all(batch: TensorDictBase, rows: Rows) -> dict[str, Value]:
    """Rows of all tensors of a batch."""
    return {key: take(value, rows) for key, value in items(batch).items()}


def take(value: Value, rows: Rows) -> Value:
    """Rows of a tensor; a view where the rows are a slice."""
    if not isinstance(value, Tensor):
        return value[rows.slice if rows.slice is not None else rows.tensor(len(value), torch.device("cpu"))]
    if is_jagged(value):
        return nested.take(value, rows)
    if value.is_nested:
        pieces = value.unbind(0)
        return _strided([pieces[row] for row in rows.index(len(pieces))], value)
    if rows.slice is not None:
        return value[rows.slice]
    return value.index_select(0, rows.tensor(value.shape[0], cast(torch.device, value.device)))


def cut(value: Value, parts: Sequence[Rows]) -> Sequence[Value]:
    """Consecutive parts of a tensor that make up the whole, as views."""
    if isinstance(value, Tensor) and not value.is_nested:
        return value.split([rows.count for rows in parts])
    return [take(value, rows) for rows in parts]


def cat(values: Sequence[Value]) -> Value:
    """Tensors of one layout, one below the other."""
    first = values[0]
    if isinstance(first, Tensor) and is_jagged(first):
        return nested.cat([value for value in values if isinstance(value, Tensor)])
    if isinstance(first, Tensor) and first.is_nested:
        return _strided([row for value in values for row in value.unbind(0)], first)
    joined: Value = torch.cat(list(values), dim=0)
    return joined


def _strided(rows: list[Tensor], like: Tensor) -> Tensor:
    return torch.nested.nested_tensor(rows, dtype=like.dtype, device=like.device)


def same_memory(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors are the same elements of the same memory, so that comparing them is needless."""
    if left is right:
        return True
    if left.is_nested or right.is_nested or left.dtype is not right.dtype or left.shape != right.shape:
        return False
    return left.device == right.device and left.data_ptr() == right.data_ptr() and left.stride() == right.stride()


def store(tensors: Mapping[str, Value], batch_size: Sequence[int], device: torch.device | None = None) -> TensorDict:
    """A `TensorDict` of tensors that are known to have this batch size and device; its constructor would ask again."""
    size = torch.Size(batch_size)
    made: TensorDict = TensorDict._new_unsafe(cast(Any, dict(tensors)), batch_size=size, device=device)
    return made


def items(batch: TensorDictBase | None) -> dict[str, Value]:
    """The tensors of a batch as a plain dict; empty where there is no batch."""
    return {} if batch is None else cast("dict[str, Value]", dict(batch.items()))
