"""Single rows: of a schema with a field of each kind, and taken out of the stores of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Binary, Fill, Group, Jagged, Meta, NonTensor, Pad
from batchpact.schemas.stores import Stores


class Rollout(BatchSchema):
    """What a rollout writes, with a field of each kind."""

    prompts: Annotated[Int64[Tensor, "batch prompt"], Pad(0, "left")]
    responses: Annotated[Int64[Tensor, "batch response"], Pad(0)]
    input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Pad(0, {"prompt": "left", "response": "right"})]
    response_mask: Annotated[Int64[Tensor, "batch response"], Pad(0), Binary()]
    score: Float32[Tensor, "batch"]
    turns: Annotated[Int64[Tensor, "batch turn"], Jagged("turn")]
    rollout_log_probs: Annotated[Float32[Tensor, "batch response"], Pad(-1.0), Fill(-1.0)] | None = None
    uid: Annotated[NonTensor[str], Group()]
    messages: NonTensor[list[dict[str, str]]]
    step: Meta[int]


def row(uid: str = "a", *, prompt: int = 2, response: int = 3, turns: int = 2, **others: Any) -> dict[str, Any]:
    """A healthy row of `Rollout`; a field that is given as None is left out."""
    prompts, responses = torch.arange(1, prompt + 1), torch.arange(1, response + 1)
    made = {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses]),
        "response_mask": torch.ones(response, dtype=torch.int64),
        "score": torch.tensor(0.5),
        "turns": torch.arange(turns),
        "uid": uid,
        "messages": [{"role": "user"}],
        "step": 7,
    }
    return {**made, **others}


def without(row: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def rows_of(stores: Stores) -> Iterator[dict[str, Any]]:
    """The rows of a batch, made without the code under test."""
    pieces = {key: _rows(value) for key, value in stores.tensors.items()}
    pieces |= {key: list(value) for key, value in stores.columns.items()}  # type: ignore[call-overload]
    for cells in zip(*pieces.values(), strict=True):
        yield {**dict(zip(pieces, cells, strict=True)), **stores.meta}


def _rows(value: Any) -> list[Tensor]:
    if not value.is_nested:
        return list(value.unbind(0))
    ends, axis = value.offsets().tolist(), value._ragged_idx - 1
    return [value.values().narrow(axis, start, stop - start) for start, stop in pairwise(ends)]
