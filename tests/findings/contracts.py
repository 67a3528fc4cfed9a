"""What the newer trainer of verl 0.9.1 does in a step, written down as contracts: what its methods read and write.

Three pipelines. `advantage` is what happens inside `_compute_advantage`: seven columns are fetched, padded, put back
under the keys of their rows. `step` is the whole of `_step_once` on jagged columns, from what the agent loop has put.
`colocated` is what a colocated reward model, or a reward function beside it, is handed.
"""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import Pipeline, Report, when
from batchpact.contracts.proof.flow import check_flow
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Binary,
    Group,
    Jagged,
    Key,
    Merge,
    Meta,
    NonTensor,
    SameAs,
    StageSchema,
    Tag,
    When,
    config,
    present,
)
from batchpact.schemas.rl import fields as f

ESTIMATOR = config("algorithm.adv_estimator")
USE_CRITIC = (config("critic.enable") | (config("critic.enable").is_none() & (ESTIMATOR == "gae"))).named("use_critic")
KL_IN_REWARD = config("algorithm.use_kl_in_reward")
KL_LOSS = config("actor_rollout_ref.actor.use_kl_loss")
USE_REFERENCE = (KL_IN_REWARD | KL_LOSS).named("use_reference_policy")
ROLLOUT_LOG_PROBS = config("actor_rollout_ref.rollout.calculate_log_probs")
BYPASS = config("algorithm.rollout_correction.bypass_mode")
REJECTION = config("algorithm.rollout_correction.rollout_rs")
WEIGHTS = config("algorithm.rollout_correction.rollout_is")
LORA = config("actor_rollout_ref.model.lora_rank") > 0
PF_PPO = (ESTIMATOR == "gae") & config("algorithm.use_pf_ppo")
TOKEN_BASELINE = ESTIMATOR.isin(["optimal_token_baseline", "tir_optimal_token_baseline"])

Floats = Float32[Tensor, "batch response"]


# --- inside _compute_advantage ----------------------------------------------------------------------------------------


class SevenColumns(BatchSchema):
    """What `_compute_advantage` fetches, where it was put before, under the keys of the rows."""

    keys: Annotated[Tag[str], Key()]
    uid: Annotated[NonTensor[str], Group()]
    response_mask: f.ResponseMask
    rm_scores: Floats
    rollout_log_probs: Annotated[Floats, When(ROLLOUT_LOG_PROBS)]
    old_log_probs: Floats
    ref_log_prob: Annotated[Floats, When(USE_REFERENCE)]
    values: Annotated[Floats, When(USE_CRITIC)]


class UseScores(StageSchema):
    """Take the scores as the rewards, less the KL penalty where it goes into the reward."""

    class Reads(BatchSchema):
        rm_scores: Floats
        response_mask: Annotated[f.ResponseMask, When(KL_IN_REWARD)]
        old_log_probs: Annotated[Floats, When(KL_IN_REWARD)]
        ref_log_prob: Annotated[Floats, When(KL_IN_REWARD)]

    class Writes(BatchSchema):
        token_level_scores: f.TokenLevelScores
        token_level_rewards: f.TokenLevelRewards


class CorrectRollout(StageSchema):
    """Weigh tokens, or mask them, by how far the trainer's policy is from the one that sampled."""

    class Reads(BatchSchema):
        response_mask: f.ResponseMask
        old_log_probs: Floats
        rollout_log_probs: Floats

    class Writes(BatchSchema):
        response_mask: Annotated[f.ResponseMask, When(REJECTION)]
        rollout_is_weights: Annotated[Floats, When(WEIGHTS)]


class EstimateAdvantage(StageSchema):
    """`compute_advantage`: the estimator that the configuration names."""

    class Reads(BatchSchema):
        token_level_rewards: f.TokenLevelRewards
        response_mask: f.ResponseMask
        uid: Annotated[NonTensor[str], Group(), When(ESTIMATOR != "gae")]
        values: Annotated[Floats, When(ESTIMATOR == "gae")]
        prompts: Annotated[f.Prompts, When(ESTIMATOR == "gdpo")]
        attention_mask: Annotated[f.AttentionMask, When(ESTIMATOR == "gdpo")]
        reward_baselines: Annotated[Float32[Tensor, "batch"], When(ESTIMATOR == "remax")]
        old_log_probs: Annotated[Floats, When(TOKEN_BASELINE)]
        sum_pi_squared: Annotated[Floats, When(TOKEN_BASELINE)]
        rollout_is_weights: Annotated[Floats | None, When(TOKEN_BASELINE)] = None

    class Writes(BatchSchema):
        advantages: f.Advantages
        returns: f.Returns


class ReweightPfPpo(StageSchema):
    """`compute_pf_ppo_reweight_data`: draw as many rows as there are, with replacement, by their scores."""

    rows = "select"

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores


class PutAdvantage(StageSchema):
    """Put the results under the keys of the rows that were fetched."""

    class Reads(BatchSchema):
        keys: Annotated[Tag[str], Key()]
        advantages: f.Advantages
        returns: f.Returns


advantage = Pipeline(
    "_compute_advantage",
    inputs=SevenColumns,
    stages=[
        UseScores,
        when(present("rollout_log_probs") & ~BYPASS, CorrectRollout),
        EstimateAdvantage,
        when(PF_PPO, ReweightPfPpo),
        PutAdvantage,
    ],
)


# --- the whole step ---------------------------------------------------------------------------------------------------

Sequence = Annotated[Int64[Tensor, "batch length"], Jagged("length")]
Prompt = Annotated[Int64[Tensor, "batch prompt"], Jagged("prompt")]
Response = Annotated[Int64[Tensor, "batch response"], Jagged("response")]
Mask = Annotated[Response, Binary()]
PerToken = Annotated[Floats, Jagged("response")]
Metrics = Annotated[Meta[dict[str, float]], Merge("collect")]


class Rollout(BatchSchema):
    """What the agent loop puts for each response (`_agent_loop_postprocess`)."""

    prompts: Prompt
    responses: Response
    input_ids: Sequence
    position_ids: Sequence
    response_mask: Mask
    loss_mask: Annotated[Mask, SameAs("response_mask")]
    rm_scores: PerToken
    rollout_log_probs: Annotated[PerToken, When(ROLLOUT_LOG_PROBS)]
    uid: Annotated[NonTensor[str], Group()]


class ComputeOldLogProb(StageSchema):
    """The log-probs of the policy that starts the update, or those of the rollout in bypass mode."""

    class Reads(BatchSchema):
        input_ids: Annotated[Sequence, When(~BYPASS)]
        position_ids: Annotated[Sequence, When(~BYPASS)]
        response_mask: Annotated[Mask, When(~BYPASS)]
        rollout_log_probs: Annotated[PerToken, When(BYPASS)]

    class Writes(BatchSchema):
        old_log_probs: PerToken
        entropy: Annotated[PerToken, When(~BYPASS)]


class ComputeRefLogProb(StageSchema):
    """The log-probs of the reference policy, which is the actor without its adapter where there is one."""

    class Reads(BatchSchema):
        input_ids: Sequence
        position_ids: Sequence
        response_mask: Mask

    class Writes(BatchSchema):
        ref_log_prob: PerToken
        no_lora_adapter: Annotated[Meta[bool], When(LORA)]  # batch.extra_info.update(...)


class ComputeValues(StageSchema):
    """The critic's values."""

    class Reads(BatchSchema):
        input_ids: Sequence
        position_ids: Sequence
        response_mask: Mask
        no_lora_adapter: Arg[bool] = False

    class Writes(BatchSchema):
        values: PerToken


class ComputeAdvantage(StageSchema):
    """`_compute_advantage`: see the other pipeline for what happens inside."""

    class Reads(BatchSchema):
        uid: Annotated[NonTensor[str], Group()]
        response_mask: Mask
        rm_scores: PerToken
        rollout_log_probs: Annotated[PerToken, When(ROLLOUT_LOG_PROBS)]
        old_log_probs: PerToken
        ref_log_prob: Annotated[PerToken, When(USE_REFERENCE)]
        values: Annotated[PerToken, When(USE_CRITIC)]

    class Writes(BatchSchema):
        advantages: PerToken
        returns: PerToken
        token_level_rewards: Annotated[PerToken, When(KL_IN_REWARD)]
        response_mask: Annotated[Mask, When(ROLLOUT_LOG_PROBS & ~BYPASS & REJECTION)]
        rollout_is_weights: Annotated[PerToken, When(ROLLOUT_LOG_PROBS & ~BYPASS & WEIGHTS)]


class UpdateCritic(StageSchema):
    """`value_loss`, over micro-batches that the engine weighs by `loss_mask`."""

    class Reads(BatchSchema):
        prompts: Prompt
        responses: Response
        input_ids: Sequence
        position_ids: Sequence
        response_mask: Mask
        loss_mask: Mask
        values: PerToken
        returns: PerToken

    class Writes(BatchSchema):
        metrics: Metrics


class UpdateActor(StageSchema):
    """`ppo_loss`, over micro-batches that the engine weighs by `loss_mask`."""

    class Reads(BatchSchema):
        prompts: Prompt
        responses: Response
        input_ids: Sequence
        position_ids: Sequence
        response_mask: Mask
        loss_mask: Mask
        old_log_probs: PerToken
        advantages: PerToken
        ref_log_prob: Annotated[PerToken, When(USE_REFERENCE)]
        rollout_is_weights: Annotated[PerToken, When(ROLLOUT_LOG_PROBS & ~BYPASS & WEIGHTS)]

    class Writes(BatchSchema):
        metrics: Metrics


class ComputeMetrics(StageSchema):
    """`_compute_metrics`, on what is left in the queue."""

    class Reads(BatchSchema):
        prompts: Prompt
        responses: Response
        response_mask: Mask
        values: Annotated[PerToken, When(USE_CRITIC)]
        advantages: PerToken
        returns: PerToken
        rm_scores: PerToken
        token_level_rewards: Annotated[PerToken, When(KL_IN_REWARD)]

    class Writes(BatchSchema):
        metrics: Metrics


step = Pipeline(
    "_step_once",
    inputs=Rollout,
    stages=[
        ComputeOldLogProb,
        when(USE_REFERENCE, ComputeRefLogProb),
        when(USE_CRITIC, ComputeValues),
        ComputeAdvantage,
        when(USE_CRITIC, UpdateCritic),
        UpdateActor,
        ComputeMetrics,
    ],
    outputs=["metrics"],
    always=[~BYPASS | ROLLOUT_LOG_PROBS],
)


# --- inside _compute_reward_colocate ---------------------------------------------------------------------------------

FUNCTION = config("reward.custom_reward_function.path")


class HandedOut(BatchSchema):
    """What `_compute_reward_colocate` makes of the three columns that it fetches."""

    prompts: f.Prompts
    responses: f.Responses
    attention_mask: f.AttentionMask
    raw_prompt: NonTensor[list[dict[str, str]]]


class ScoreByFunction(StageSchema):
    """`NaiveRewardManager.run_single`: the reward function of the user."""

    class Reads(BatchSchema):
        responses: f.Responses
        attention_mask: f.AttentionMask
        data_source: f.DataSource
        reward_model: NonTensor[dict[str, str]]

    class Writes(BatchSchema):
        rm_scores: f.TokenLevelScores


class ScoreByModel(StageSchema):
    """`compute_score_disrm`: the reward model itself."""

    class Reads(BatchSchema):
        responses: f.Responses
        attention_mask: f.AttentionMask
        raw_prompt: NonTensor[list[dict[str, str]]]

    class Writes(BatchSchema):
        rm_scores: f.TokenLevelScores


colocated = Pipeline(
    "_compute_reward_colocate",
    inputs=HandedOut,
    stages=[when(FUNCTION, ScoreByFunction), when(~FUNCTION, ScoreByModel)],
    outputs=["rm_scores"],
)


def found(pipeline: Pipeline, code: str) -> list[str]:
    """What the check of a pipeline finds under this code, as it is printed but for the columns.

    By a check that knows no stages but these: what other tests declare is no help for anybody.
    """
    report = Report(pipeline.name, "", tuple(check_flow(pipeline.spec, [])))
    lines = [" ".join(line.split()) for line in str(report).splitlines()[2:]]
    return [line for line in lines if line.startswith(code)]
