"""The contracts of the tests, and batches that keep to them; verl is not needed here."""

from __future__ import annotations

from typing import Annotated, Any

import torch
from jaxtyping import Float32
from tensordict import NonTensorData, NonTensorStack, TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    From,
    Group,
    Jagged,
    Meta,
    NonTensor,
    Pad,
    StageSchema,
    When,
    config,
)

PerToken = Float32[Tensor, "batch response"]
Ragged = Annotated[Float32[Tensor, "batch response"], Jagged("response")]
WIDTH = 3


class ComputeValues(StageSchema):
    """Every placement, an argument, and a field that only some configurations read."""

    class Reads(BatchSchema):
        rewards: PerToken
        uid: NonTensor[str]
        gamma: Meta[float]
        scale: Annotated[Arg[float], From("algorithm.scale")] = 1.0
        bonus: Annotated[PerToken, When(config("use_bonus") == True)]  # noqa: E712  # a condition

    class Writes(BatchSchema):
        values: PerToken


class Neutral(StageSchema):
    pad_safe = True

    class Reads(BatchSchema):
        rewards: Annotated[PerToken, Pad(0.0)]

    class Writes(BatchSchema):
        doubled: PerToken


class Generate(StageSchema):
    rows = "new"

    class Reads(BatchSchema):
        rewards: PerToken

    class Writes(BatchSchema):
        responses: PerToken


class Advantage(StageSchema):
    class Reads(BatchSchema):
        rewards: PerToken
        uid: Annotated[NonTensor[str], Group()]

    class Writes(BatchSchema):
        advantages: PerToken


class Losses(StageSchema):
    """Reads values and writes them anew, and tells of it."""

    class Reads(BatchSchema):
        values: PerToken

    class Writes(BatchSchema):
        values: PerToken
        metrics: Meta[dict[str, Any]]


class InferValues(StageSchema):
    """What verl's bridge makes of a column of TransferQueue is jagged."""

    class Reads(BatchSchema):
        rewards: Ragged
        uid: NonTensor[str]
        temperature: Meta[float]
        entropy: Arg[bool] = False
        bonus: Annotated[Ragged, When(config("use_bonus") == True)]  # noqa: E712  # a condition

    class Writes(BatchSchema):
        values: Ragged


class Update(StageSchema):
    """Nothing for any row comes back."""

    class Reads(BatchSchema):
        rewards: Ragged
        values: Ragged

    class Writes(BatchSchema):
        metrics: Meta[dict[str, Any]]


def rewards(rows: int) -> Tensor:
    """Row `n` starts with `n + 1`."""
    return torch.arange(1.0, rows + 1).reshape(rows, 1) + torch.arange(WIDTH) / 10


def fields(rows: int) -> tuple[dict[str, Any], dict[str, list[Any]], dict[str, Any]]:
    """What the contracts read, and in each store something that stays behind."""
    tensors = {"rewards": rewards(rows), "bonus": torch.ones(rows, WIDTH), "pixels": torch.ones(rows, 5)}
    columns: dict[str, list[Any]] = {
        "uid": [f"u{row // 2}" for row in range(rows)],
        "images": [f"image {row}" for row in range(rows)],
    }
    return tensors, columns, {"gamma": 0.5, "global_steps": 7}


def ours(rows: int) -> DataProto:
    return DataProto.from_dict(*fields(rows))


def tensor_dict(rows: int) -> TensorDict:
    tensors, columns, meta = fields(rows)
    stacks = {key: NonTensorStack(*[NonTensorData(cell) for cell in cells]) for key, cells in columns.items()}
    data = {key: NonTensorData(value, batch_size=[rows]) for key, value in meta.items()}
    return TensorDict({**tensors, **stacks, **data}, batch_size=[rows])


def verls(rows: int) -> Any:
    return ours(rows).to_verl()


BATCHES = {"verl's DataProto": verls, "TensorDict": tensor_dict, "our DataProto": ours}
