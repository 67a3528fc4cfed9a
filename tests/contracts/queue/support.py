"""What the tests of TransferQueue share: rows of every kind, put there as anybody would put them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import BFloat16, Bool, Float32, Int64
from tensordict import NonTensorData, NonTensorStack, TensorDict
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, ContractError, Jagged, Meta, NonTensor, StageSchema, Tag

ROWS = 4


def jagged(*rows: Tensor, axis: int = 1) -> Tensor:
    """Rows as one jagged tensor that is ragged on this axis, counted with the rows."""
    lengths = torch.tensor([0, *(row.shape[axis - 1] for row in rows)]).cumsum(0)
    return torch.nested.nested_tensor_from_jagged(torch.cat(rows, dim=axis - 1), lengths, jagged_dim=axis)


class Everything(BatchSchema):
    """A field of every layout, dtype and placement."""

    score: Float32[Tensor, "batch"]
    one: Float32[Tensor, "batch 1"]
    ids: Int64[Tensor, "batch length"]
    mask: Bool[Tensor, "batch length"]
    half: BFloat16[Tensor, "batch length"]
    image: Float32[Tensor, "batch 2 3"]
    tokens: Annotated[Int64[Tensor, "batch tokens"], Jagged("tokens")]
    log_probs: Annotated[Float32[Tensor, "batch tokens"], Jagged("tokens")]
    position_ids: Annotated[Int64[Tensor, "batch 4 tokens"], Jagged("tokens")]
    cells: NonTensor[object]
    uid: NonTensor[str]
    priority: Tag[float]
    temperature: Meta[float]


CELLS: list[Any] = ["", [], [0.5], {"x": [1, None]}, [{"a": 1}], None, 7, 1.5, True, [[1], [2, 3]], {}, "text"]


def everything(rows: int = ROWS, lengths: list[int] | None = None, seed: int = 0) -> DataProto:
    """Rows of `Everything`; the ragged ones have these lengths."""
    made = torch.Generator().manual_seed(seed)
    sizes = list(range(1, rows + 1)) if lengths is None else lengths

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=made)

    tensors = {
        "score": random(rows),
        "one": random(rows, 1),
        "ids": torch.arange(rows * 3).reshape(rows, 3),
        "mask": random(rows, 3) > 0,
        "half": random(rows, 3).to(torch.bfloat16),
        "image": random(rows, 2, 3),
        "tokens": jagged(*(torch.arange(size) + size for size in sizes)),
        "log_probs": jagged(*(random(size) for size in sizes)),
        "position_ids": jagged(*(torch.arange(4 * size).reshape(4, size) for size in sizes), axis=2),
    }
    columns = {
        "cells": [CELLS[(seed + row) % len(CELLS)] for row in range(rows)],
        "uid": [f"u{row}" for row in range(rows)],
        "priority": [row / 2 for row in range(rows)],
    }
    return DataProto.from_dict(tensors, columns, {"temperature": 0.7})


class Read(StageSchema):
    """Reads every kind of field, and writes none."""

    class Reads(Everything):
        pass


class Copy(StageSchema):
    """Writes every kind of field."""

    class Reads(BatchSchema):
        uid: NonTensor[str]

    class Writes(Everything):
        uid: NonTensor[str]


def put(queue: Any, data: DataProto, partition: str, *, tags: tuple[str, ...] = ("priority",)) -> Any:
    """The keys of rows that were put as somebody without contracts puts them."""
    stacks = {
        key: NonTensorStack(*[NonTensorData(data=cell) for cell in cells])
        for key, cells in data.non_tensor_batch.items()
        if key not in tags
    }
    held = {} if data.batch is None else dict(data.batch.items())
    rows = [{key: data.non_tensor_batch[key][row] for key in tags} for row in range(len(data))]
    keys = [f"k{row}" for row in range(len(data))]
    made = queue.kv_batch_put(keys, partition, TensorDict({**held, **stacks}, batch_size=[len(data)]), tags=rows)
    made.extra_info.update(data.meta_info)
    return made


class Scale(StageSchema):
    """Reads two of the columns and writes a new one, a tag and a meta value."""

    class Reads(BatchSchema):
        ids: Int64[Tensor, "batch length"]
        priority: Tag[float]
        temperature: Meta[float]

    class Writes(BatchSchema):
        scaled: Float32[Tensor, "batch length"]
        urgent: Tag[bool]
        scale: Meta[float]


def scaled(ids: Tensor, priority: list[float], temperature: float) -> dict[str, Any]:
    """What `Scale` writes."""
    return {
        "scaled": ids.float() * temperature,
        "urgent": column([value > 0.5 for value in priority]),
        "scale": temperature,
    }


@stage(Read)
def seen(data: DataProto, into: list[DataProto]) -> None:
    """Note what was handed out."""
    into.append(data)


@stage
def scale(batch: Scale.Reads) -> Scale.Writes:
    return Scale.Writes(**scaled(batch.ids, list(batch.priority), batch.temperature))


def refused(call: Callable[..., object], *args: Any, **kwargs: Any) -> ContractError:
    """The error that a call raises."""
    with pytest.raises(ContractError) as caught:
        call(*args, **kwargs)
    return caught.value
