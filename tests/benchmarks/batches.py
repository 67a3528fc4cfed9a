"""The schema and the batch that the benchmarks share: the 13 tensors of a GRPO step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, NonTensor, StageSchema
from batchpact.schemas.rl import fields as f


class Size(NamedTuple):
    """How big a batch is."""

    rows: int
    prompt: int
    response: int


SMALL = Size(64, 32, 96)
"""For what does not depend on the size: checks and calls."""

FULL = Size(1024, 512, 1536)
"""124 MB: for what copies."""


class Thirteen(BatchSchema):
    """Thirteen tensors."""

    prompts: f.Prompts
    responses: f.Responses
    input_ids: f.InputIds
    attention_mask: f.AttentionMask
    position_ids: f.PositionIds
    response_mask: f.ResponseMask
    old_log_probs: f.OldLogProbs
    ref_log_prob: f.RefLogProb
    token_level_scores: f.TokenLevelScores
    token_level_rewards: f.TokenLevelRewards
    advantages: f.Advantages
    returns: f.Returns
    values: Float32[Tensor, "batch response"]


class TenInThreeOut(StageSchema):
    """A stage with ten reads, one of them a column, and three writes."""

    class Reads(BatchSchema):
        responses: f.Responses
        input_ids: f.InputIds
        attention_mask: f.AttentionMask
        position_ids: f.PositionIds
        response_mask: f.ResponseMask
        old_log_probs: f.OldLogProbs
        ref_log_prob: f.RefLogProb
        token_level_scores: f.TokenLevelScores
        prompts: f.Prompts
        uid: NonTensor[str]

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards
        advantages: f.Advantages
        returns: f.Returns


def thirteen_tensors(seed: int = 0, size: Size = SMALL) -> dict[str, Tensor]:
    """Random values for every field of `Thirteen`."""
    random = torch.Generator().manual_seed(seed)
    sizes = {"prompt": size.prompt, "response": size.response, "prompt+response": size.prompt + size.response}
    tensors = {}
    for field in Thirteen.__batchpact__.spec.fields:
        place = field.places[0]
        assert place.dims is not None
        shape = [size.rows, *(sizes[dim] for dim in place.dims.split()[1:])]
        if place.dtype == "float32":
            tensors[field.key] = torch.randn(shape, generator=random)
        else:
            tensors[field.key] = torch.randint(0, 2, shape, generator=random)
    return tensors


def uids(rows: int = SMALL.rows) -> np.ndarray:
    """A column of prompt ids, four rows each."""
    return column([f"prompt-{row // 4}" for row in range(rows)])


def batch() -> DataProto:
    """The thirteen tensors with a column of ids."""
    return DataProto.from_dict(thirteen_tensors(), {"uid": uids()})
