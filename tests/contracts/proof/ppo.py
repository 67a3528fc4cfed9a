"""PPO and GRPO in one pipeline, as a trainer's configuration switches its parts: for the proofs."""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import Pipeline, when
from batchpact.contracts.planned import StageLike
from batchpact.schemas import BatchSchema, Group, Meta, Name, NonTensor, Repeat, StageSchema, When, config, meta

ESTIMATOR = config("algorithm.adv_estimator")
USE_CRITIC = (ESTIMATOR == "gae").named("use_critic")
KL_IN_REWARD = config("algorithm.use_kl_in_reward")
KL_LOSS = config("actor.use_kl_loss")
USE_REFERENCE = (KL_IN_REWARD | KL_LOSS).named("use_reference")
REWARD_MODEL = config("reward_model.enable")

Tokens = Int64[Tensor, "batch response"]
PerToken = Float32[Tensor, "batch response"]


class Prompts(BatchSchema):
    prompts: Int64[Tensor, "batch prompt"]
    uid: Annotated[NonTensor[str], Group()]
    temperature: Meta[float]
    validation: Annotated[Meta[bool], Name("validate")] = False


class Generate(StageSchema):
    rows = Repeat("rollout.n")

    class Reads(BatchSchema):
        prompts: Int64[Tensor, "batch prompt"]
        temperature: Meta[float]

    class Writes(BatchSchema):
        responses: Tokens
        response_mask: Tokens


class RewardModel(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens

    class Writes(BatchSchema):
        rm_scores: PerToken


class Score(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens
        rm_scores: Annotated[PerToken, When(REWARD_MODEL)]

    class Writes(BatchSchema):
        token_level_scores: PerToken


class OldLogProb(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens

    class Writes(BatchSchema):
        old_log_probs: PerToken


class RefLogProb(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens

    class Writes(BatchSchema):
        ref_log_prob: PerToken


class Values(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens

    class Writes(BatchSchema):
        values: PerToken


class Rewards(StageSchema):
    class Reads(BatchSchema):
        token_level_scores: PerToken
        old_log_probs: Annotated[PerToken, When(KL_IN_REWARD)]
        ref_log_prob: Annotated[PerToken, When(KL_IN_REWARD)]

    class Writes(BatchSchema):
        token_level_rewards: PerToken


class Advantage(StageSchema):
    class Reads(BatchSchema):
        token_level_rewards: PerToken
        response_mask: Tokens
        values: Annotated[PerToken, When(USE_CRITIC)]
        uid: Annotated[NonTensor[str], When(ESTIMATOR == "grpo")]

    class Writes(BatchSchema):
        advantages: PerToken
        returns: Annotated[PerToken, When(USE_CRITIC)]


class UpdateCritic(StageSchema):
    class Reads(BatchSchema):
        values: PerToken
        returns: PerToken
        response_mask: Tokens

    class Writes(BatchSchema):
        critic_metrics: Meta[dict[str, float]]


class UpdateActor(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens
        old_log_probs: PerToken
        advantages: PerToken
        response_mask: Tokens
        ref_log_prob: Annotated[PerToken, When(KL_LOSS)]

    class Writes(BatchSchema):
        actor_metrics: Meta[dict[str, float]]


def ppo(**changes: StageLike | None) -> Pipeline:
    """The pipeline, with stages replaced, or left out where None, by their names."""
    stages: dict[str, StageLike | None] = {
        "generate": Generate,
        "reward_model": when(REWARD_MODEL, RewardModel),
        "score": Score,
        "old_log_prob": OldLogProb,
        "ref_log_prob": when(USE_REFERENCE, RefLogProb),
        "values": when(USE_CRITIC, Values),
        "rewards": Rewards,
        "advantage": Advantage,
        "update_critic": when(USE_CRITIC, UpdateCritic),
        "update_actor": when(~meta("validate"), UpdateActor),
    } | changes
    kept = [stage for stage in stages.values() if stage is not None]
    return Pipeline("ppo", inputs=Prompts, stages=kept)
