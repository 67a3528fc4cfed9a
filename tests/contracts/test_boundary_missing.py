"""Fields that are not there: the message says what is known of their way."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, Meta, MissingFieldError, Name, NonTensor, StageSchema
from tests.contracts.stages import refusal, scored

# --- M1: the last stage that had a field -----------------------------------------------------------------------------


class Score(StageSchema):
    class Reads(BatchSchema):
        data_source: NonTensor[str]
        ref_log_prob: Float32[Tensor, "batch response"] | None = None
        n: Arg[int] = 1

    class Writes(BatchSchema):
        scores: Float32[Tensor, "batch"]


class Late(StageSchema):
    class Reads(BatchSchema):
        data_source: NonTensor[str]
        scores: Float32[Tensor, "batch"]


@stage
def score(batch: Score.Reads) -> Score.Writes:
    return Score.Writes(scores=torch.ones(len(batch.data_source)))


@stage
def late(batch: Late.Reads) -> None:
    return None


def test_a_missing_field_names_the_stage_that_read_it_last() -> None:
    batch = scored()
    batch.union(score(batch))
    batch.non_tensor_batch = {"uid": batch.non_tensor_batch["uid"]}  # rebuilt from somebody's own outputs

    assert refusal(lambda: late(batch), MissingFieldError) == (
        "1 problem where stage 'late' reads its batch\n\n"
        "  BP001 missing  data_source  declared non-tensor str; last read by 'score', and no longer in the batch"
    )


def test_a_missing_field_names_the_stage_that_wrote_it_last() -> None:
    batch = scored()
    batch.union(score(batch))
    batch.batch.pop("scores")

    assert refusal(lambda: late(batch), MissingFieldError) == (
        "1 problem where stage 'late' reads its batch\n\n"
        "  BP001 missing  scores  declared f32 \"batch\"; written by 'score', and no longer in the batch"
    )


class NeedsWhatWasOptional(StageSchema):
    class Reads(BatchSchema):
        ref_log_prob: Float32[Tensor, "batch response"]
        n: Meta[int]


def test_a_field_that_was_never_there_was_not_read_by_anybody() -> None:
    """An optional field that the batch lacked, and an argument, which is no field of the batch."""

    @stage(NeedsWhatWasOptional)
    def needs(data: DataProto) -> None:
        return None

    batch = scored()
    score(batch)

    assert refusal(lambda: needs(batch), MissingFieldError) == (
        "2 problems where stage 'needs' reads its batch\n\n"
        '  BP001 missing  ref_log_prob  declared f32 "batch response"; no name in the batch is close\n'
        "  BP001 missing  n             declared meta int; no name in the batch is close"
    )


# --- M2: meta --------------------------------------------------------------------------------------------------------


class Reward(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        validating: Annotated[Meta[bool], Name("validate")]


def test_a_meta_field_is_part_of_the_contract_on_every_route() -> None:
    """Case M2: a key that one route sets and the other does not was a default that nobody noticed."""
    seen: list[bool] = []

    @stage
    def reward(batch: Reward.Reads) -> None:
        seen.append(batch.validating)

    batch = scored()

    assert refusal(lambda: reward(batch), MissingFieldError) == (
        "1 problem where stage 'reward' reads its batch\n\n"
        "  BP001 missing  validate  declared meta bool; no name in the batch is close"
    )
    batch.meta_info["validate"] = True
    reward(batch)
    assert seen == [True]
