"""verl's own functions of a batch under contract: the estimators, and what its driver calls between its workers.

Each is a stage around the function itself. What a function reads in some configurations only has the condition that the
function has.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any

from jaxtyping import Int64
from omegaconf import OmegaConf
from torch import Tensor

from batchpact.contracts import stage
from batchpact.schemas import BatchSchema, Meta, Name, NonTensor, StageSchema, When, config
from batchpact.schemas.rl import fields as f
from tests.findings.contracts import USE_CRITIC, CorrectRollout, EstimateAdvantage, Floats, Metrics

CONFIG = OmegaConf.create(
    {
        "gamma": 1.0,
        "norm_adv_by_std_in_grpo": True,
        "gdpo_reward_keys": ["format_reward"],
        "rollout_correction": {"rollout_is": "token", "rollout_rs": "token_k1", "rollout_rs_threshold": "0.5_2.0"},
    }
)


class EstimateGdpo(EstimateAdvantage):
    """The estimator that reads a column for each part of the reward."""

    class Reads(EstimateAdvantage.Reads):
        format_reward: NonTensor[float]


def _estimate(data: Any, adv_estimator: str) -> Any:
    from verl.trainer.ppo.ray_trainer import compute_advantage

    return compute_advantage(data, adv_estimator, config=CONFIG)


estimate = stage(EstimateAdvantage)(_estimate)
estimate_gdpo = stage(EstimateGdpo)(_estimate)


class MakeResponseMask(StageSchema):
    """Cut the mask of the responses out of the attention mask."""

    class Reads(BatchSchema):
        responses: f.Responses
        attention_mask: f.AttentionMask

    class Writes(BatchSchema):
        response_mask: f.ResponseMask


@stage(MakeResponseMask)
def make_response_mask(data: Any) -> MakeResponseMask.Writes:
    from verl.trainer.ppo.ray_trainer import compute_response_mask

    return MakeResponseMask.Writes(response_mask=compute_response_mask(data))


class Penalise(StageSchema):
    """Subtract the KL penalty from the scores."""

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores
        response_mask: f.ResponseMask
        old_log_probs: Floats
        ref_log_prob: Floats

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards


@stage(Penalise)
def penalise(data: Any) -> Any:
    from verl.trainer.ppo.core_algos import FixedKLController
    from verl.trainer.ppo.ray_trainer import apply_kl_penalty

    return apply_kl_penalty(data, FixedKLController(0.001))  # the batch and a dict of metrics


@stage(CorrectRollout)
def correct_rollout(data: Any) -> Any:
    from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_add_to_batch

    return compute_rollout_correction_and_add_to_batch(data, CONFIG.rollout_correction)


class DataMetrics(StageSchema):
    """Figures of scores, rewards, advantages, values and lengths."""

    class Reads(BatchSchema):
        prompts: f.Prompts
        responses: f.Responses
        attention_mask: f.AttentionMask
        response_mask: f.ResponseMask
        token_level_scores: f.TokenLevelScores
        token_level_rewards: f.TokenLevelRewards
        advantages: f.Advantages
        returns: f.Returns
        values: Annotated[Floats, When(USE_CRITIC)]
        turns: Annotated[NonTensor[int] | None, Name("__num_turns__")] = None

    class Writes(BatchSchema):
        metrics: Metrics


@stage(DataMetrics)
def data_metrics(data: Any, use_critic: bool) -> DataMetrics.Writes:
    from verl.trainer.ppo.metric_utils import compute_data_metrics

    return DataMetrics.Writes(metrics=compute_data_metrics(data, use_critic))


class TimingMetrics(StageSchema):
    """Times for each token, by the lengths of prompts and responses."""

    class Reads(BatchSchema):
        responses: f.Responses
        attention_mask: f.AttentionMask

    class Writes(BatchSchema):
        metrics: Metrics


@stage(TimingMetrics)
def timing_metrics(data: Any) -> TimingMetrics.Writes:
    from verl.trainer.ppo.metric_utils import compute_timing_metrics

    return TimingMetrics.Writes(metrics=compute_timing_metrics(data, {"gen": 1.0, "adv": 0.5}))


class VarianceMetrics(StageSchema):
    """The variance of the gradient, by a proxy."""

    class Reads(BatchSchema):
        response_mask: f.ResponseMask
        advantages: f.Advantages
        old_log_probs: Floats
        sum_pi_squared: Floats
        rollout_is_weights: Annotated[Floats, When(config("algorithm.rollout_correction.rollout_is"))]

    class Writes(BatchSchema):
        metrics: Metrics


@stage(VarianceMetrics)
def variance_metrics(data: Any) -> VarianceMetrics.Writes:
    from verl.trainer.ppo.metric_utils import compute_variance_proxy_metrics

    return VarianceMetrics.Writes(metrics=compute_variance_proxy_metrics(data, 0.5))


class RolloutMetrics(StageSchema):
    """How far the log-probs of the rollout are from the trainer's."""

    class Reads(BatchSchema):
        responses: f.Responses
        response_mask: f.ResponseMask
        old_log_probs: Floats
        rollout_log_probs: Floats

    class Writes(BatchSchema):
        metrics: Metrics


@stage(RolloutMetrics)
def rollout_metrics(data: Any) -> RolloutMetrics.Writes:
    from verl.utils.debug.metrics import calculate_debug_metrics

    return RolloutMetrics.Writes(metrics=calculate_debug_metrics(data))


class Throughput(StageSchema):
    """Tokens for each second and GPU."""

    class Reads(BatchSchema):
        global_token_num: Meta[list[int]]

    class Writes(BatchSchema):
        metrics: Metrics


@stage(Throughput)
def throughput(data: Any) -> Throughput.Writes:
    from verl.trainer.ppo.metric_utils import compute_throughout_metrics

    return Throughput.Writes(metrics=compute_throughout_metrics(data, {"step": 2.0}, 1))


class Bypass(StageSchema):
    """Take the log-probs of the rollout for those of the policy that starts the update."""

    class Reads(BatchSchema):
        rollout_log_probs: Floats

    class Writes(BatchSchema):
        old_log_probs: Floats


@stage(Bypass)
def bypass(data: Any) -> Any:
    from verl.trainer.ppo.rollout_corr_helper import apply_bypass_mode

    apply_bypass_mode(data, CONFIG.rollout_correction, OmegaConf.create({}))
    return data


class Balance(StageSchema):
    """Bring the rows into an order in which every rank has as many tokens."""

    rows = "permute"

    class Reads(BatchSchema):
        attention_mask: Int64[Tensor, "batch length"]


@stage(Balance)
def balance(data: Any) -> Any:
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer

    trainer = SimpleNamespace(actor_rollout_wg=None, _get_dp_size=lambda workers, role: 2)
    vars(RayPPOTrainer)["_balance_batch"](trainer, data, {})
    return data


class PolicyLoss(StageSchema):
    """What an actor's update minimises, on one micro-batch; the loss itself goes beside the batch."""

    graph = "allow"

    class Reads(BatchSchema):
        old_log_probs: Floats
        log_prob: Floats
        advantages: f.Advantages
        response_mask: f.ResponseMask
        rollout_is_weights: Floats | None = None

    class Writes(BatchSchema):
        metrics: Metrics


@stage(PolicyLoss)
def policy_loss(data: Any, loss_mode: str) -> tuple[PolicyLoss.Writes, Tensor]:
    from verl.trainer.ppo.core_algos import get_policy_loss_fn
    from verl.workers.config import ActorConfig, PolicyLossConfig

    losses = PolicyLossConfig(dro_beta=0.1, clip_cov_ratio=0.5, kl_cov_ratio=0.5)
    sizes = {"rollout_n": 1, "ppo_mini_batch_size": 1, "ppo_micro_batch_size_per_gpu": 1}
    loss, metrics = get_policy_loss_fn(loss_mode)(
        old_log_prob=data.batch["old_log_probs"],
        log_prob=data.batch["log_prob"],
        advantages=data.batch["advantages"],
        response_mask=data.batch["response_mask"],
        rollout_is_weights=data.batch.get("rollout_is_weights"),
        config=ActorConfig(strategy="fsdp", policy_loss=losses, **sizes),
    )
    return PolicyLoss.Writes(metrics=metrics), loss
