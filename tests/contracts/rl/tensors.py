"""verl's functions of plain tensors under contract: each as it is, its parameters filled from a batch.

Where `schemas.rl` has the contract, that one is taken; the others are written down here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple

from jaxtyping import Bool, Float32, Int64
from omegaconf import OmegaConf
from torch import Tensor
from verl.trainer.ppo import core_algos, metric_utils, ray_trainer, rollout_corr_helper
from verl.utils.debug import metrics as debug_metrics
from verl.workers.config import ActorConfig, PolicyLossConfig

from batchpact.contracts import stage
from batchpact.schemas import Arg, BatchSchema, Meta, StageSchema
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.dense.advantages import ESTIMATORS

PerToken = Float32[Tensor, "batch response"]
ALGORITHM = OmegaConf.create({"gdpo_reward_keys": ["format_reward", "accuracy_reward"], "gamma": 0.9})
OLD_TO_NEW = {"old_log_prob": "old_log_probs", "rollout_log_prob": "rollout_log_probs"}


class Case(NamedTuple):
    """A function with its contract.

    Attributes:
        under_contract: the function as a stage.
        function: the function.
        names: the field of a parameter, where it is not called like it.
        given: what a call brings along beside the batch.
        not_used: declared fields whose values the function does not look at, and why they are declared.
    """

    under_contract: Callable[..., Any]
    function: Callable[..., Any]
    names: Mapping[str, str]
    given: Mapping[str, Any]
    not_used: Mapping[str, str]


def case(
    schema: type[StageSchema],
    function: Callable[..., Any],
    names: Mapping[str, str] | None = None,
    not_used: Mapping[str, str] | None = None,
    **given: Any,
) -> Case:
    names = names or {}
    made = stage(schema, unpack=True, names=names)(function)
    return Case(made, function, names, given, not_used or {})


# --- estimators -------------------------------------------------------------------------------------------------------

NOT_USED = {
    "gdpo": {
        "token_level_rewards": "it is there for its device",
        "prompts": "they are there for their width",
        "attention_mask": "a part of the reward stands at the last token, and is summed over all of them",
    }
}


def estimators() -> dict[str, Case]:
    """Every registered estimator under the contract that `schemas.rl` has for its name."""
    found = {}
    for name, function in core_algos.ADV_ESTIMATOR_REGISTRY.items():
        schema = ESTIMATORS[name]
        reads = {field.name for field in schema.__batchpact__.reads.fields}
        given = {} if name == "gae" else {"config": ALGORITHM}
        names = {"index": "uid"} if "uid" in reads else {}
        found[str(name)] = case(schema, function, names, NOT_USED.get(name), **given)
    return found


# --- losses -----------------------------------------------------------------------------------------------------------


class PolicyLoss(StageSchema):
    """What an actor's update minimises, on one micro-batch."""

    graph = "allow"

    class Reads(BatchSchema):
        old_log_probs: PerToken
        log_prob: PerToken
        advantages: f.Advantages
        response_mask: f.ResponseMask
        rollout_is_weights: PerToken

    class Writes(BatchSchema):
        loss: Meta[Any]
        metrics: Meta[dict[str, Any]]


class ClippedLoss(StageSchema):
    """The clipped policy loss with its figures, as the older function returns them."""

    class Reads(BatchSchema):
        old_log_probs: PerToken
        log_prob: PerToken
        advantages: f.Advantages
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        loss: Meta[Any]
        clipped: Meta[Any]
        kl: Meta[Any]
        clipped_below: Meta[Any]


class ReinforceLoss(StageSchema):
    """The log-probabilities weighed by their advantages."""

    class Reads(BatchSchema):
        rollout_log_probs: PerToken
        log_prob: PerToken
        advantages: f.Advantages
        response_mask: f.ResponseMask
        rollout_is_weights: PerToken

    class Writes(BatchSchema):
        loss: Meta[Any]
        metrics: Meta[dict[str, Any]]


class ValueLoss(StageSchema):
    """How far a critic is from the returns, clipped around what it said before."""

    class Reads(BatchSchema):
        vpreds: PerToken
        returns: f.Returns
        values: f.Values
        response_mask: f.ResponseMask
        cliprange_value: Arg[float]

    class Writes(BatchSchema):
        loss: Meta[Any]
        clipped: Meta[Any]


class EntropyLoss(StageSchema):
    """The entropy of the distribution over tokens, as one number."""

    class Reads(BatchSchema):
        logits: Float32[Tensor, "batch response vocabulary"]
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        loss: Meta[Any]


class Aggregate(StageSchema):
    """One number of a matrix of losses."""

    class Reads(BatchSchema):
        entropys: f.Entropys
        response_mask: f.ResponseMask
        loss_agg_mode: Arg[str]
        dp_size: f.DpSize = 1
        batch_num_tokens: f.BatchNumTokens | None = None

    class Writes(BatchSchema):
        loss: Meta[Any]


def losses() -> dict[str, Case]:
    """The registered policy losses, and the other functions that losses are made of."""
    sizes = {"rollout_n": 1, "ppo_mini_batch_size": 1, "ppo_micro_batch_size_per_gpu": 1}
    settings = PolicyLossConfig(dro_beta=0.1, clip_cov_ratio=0.5, kl_cov_ratio=0.5)
    actor = ActorConfig(strategy="fsdp", policy_loss=settings, **sizes)
    not_used = {
        "bypass_mode": {"rollout_is_weights": "it takes weights of its own"},
        "gpg": {"old_log_probs": "it has no ratio of policies"},
    }
    old = {"old_log_prob": "old_log_probs"}
    return {
        **{
            f"loss {name}": case(PolicyLoss, function, old, not_used.get(name), config=actor)
            for name, function in core_algos.POLICY_LOSS_REGISTRY.items()
        },
        "compute_policy_loss": case(ClippedLoss, inspect.unwrap(core_algos.compute_policy_loss), old, cliprange=0.2),
        "compute_policy_loss_reinforce": case(
            ReinforceLoss,
            core_algos.compute_policy_loss_reinforce,
            {"rollout_log_prob": "rollout_log_probs"},
            config=actor,
        ),
        "compute_value_loss": case(ValueLoss, core_algos.compute_value_loss, cliprange_value=0.2),
        "compute_entropy_loss": case(EntropyLoss, core_algos.compute_entropy_loss),
        **{
            f"agg_loss {mode}": case(
                Aggregate,
                core_algos.agg_loss,
                {"loss_mat": "entropys", "loss_mask": "response_mask"},
                loss_agg_mode=mode,
            )
            for mode in (
                "token-mean",
                "token-sum",
                "seq-mean-token-sum",
                "seq-mean-token-sum-norm",
                "seq-mean-token-mean",
            )
        },
    }


# --- KL ---------------------------------------------------------------------------------------------------------------


class Kl(StageSchema):
    """How far the policy is from the reference, at each token."""

    class Reads(BatchSchema):
        old_log_probs: f.OldLogProbs
        ref_log_prob: f.RefLogProb
        kl_penalty: f.KlPenalty

    class Writes(BatchSchema):
        kl: PerToken


class Penalised(StageSchema):
    """Scores less the KL penalty, by the older function."""

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores
        old_log_probs: f.OldLogProbs
        ref_log_prob: f.RefLogProb
        kl_coef: f.KlCoef

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards


def penalties() -> dict[str, Case]:
    """The KL penalty in each of its kinds; `full` wants logits, and verl has not written it."""
    names = {"logprob": "old_log_probs", "ref_logprob": "ref_log_prob"}
    kinds = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "k1+", "k3+")
    return {
        **{f"kl_penalty {kind}": case(Kl, core_algos.kl_penalty, names, kl_penalty=kind) for kind in kinds},
        "kl_penalty_forward": case(Kl, core_algos.kl_penalty_forward, names, kl_penalty="k3"),
        "compute_rewards": case(
            Penalised,
            core_algos.compute_rewards,
            {"old_log_prob": "old_log_probs", "kl_ratio": "kl_coef"},
            kl_coef=0.1,
        ),
    }


# --- rollout correction -----------------------------------------------------------------------------------------------


class RatioReads(BatchSchema):
    """How much likelier the actor finds a token than the rollout did, as a difference of logs."""

    log_ratio: PerToken
    response_mask: f.ResponseMask


class Reject(StageSchema):
    """Take out of the mask what is too far off."""

    class Reads(RatioReads):
        pass

    class Writes(BatchSchema):
        response_mask: f.ResponseMask
        metrics: Meta[dict[str, Any]]


class Weigh(StageSchema):
    """Weights of importance, truncated."""

    class Reads(RatioReads):
        pass

    class Writes(BatchSchema):
        rollout_is_weights: f.RolloutIsWeights
        metrics: Meta[dict[str, Any]]


class WeightFigures(StageSchema):
    """Figures of these weights."""

    class Reads(RatioReads):
        rollout_is_weights: f.RolloutIsWeights
        raw: PerToken
        rollout_is: Arg[str]
        rollout_is_threshold: Arg[float]

    class Writes(BatchSchema):
        metrics: Meta[dict[str, Any]]


class RejectionFigures(StageSchema):
    """Figures of what was rejected."""

    class Reads(BatchSchema):
        statistic: PerToken
        response_mask: f.ResponseMask
        per_sequence: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        metrics: Meta[dict[str, Any]]


class OffPolicyFigures(StageSchema):
    """How far rollout and actor are apart."""

    class Reads(BatchSchema):
        old_log_probs: f.OldLogProbs
        rollout_log_probs: f.RolloutLogProbs
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        metrics: Meta[dict[str, Any]]


class WeighAndReject(StageSchema):
    """Both, and the figures of both; the weights come in a batch of verl's."""

    class Reads(OffPolicyFigures.Reads):
        pass

    class Writes(BatchSchema):
        weights: Meta[Any]
        response_mask: f.ResponseMask
        metrics: Meta[dict[str, Any]]


def _rejected(statistic: Any, response_mask: Any, per_sequence: Any) -> Any:
    """`compute_rs_metrics`, with the mask of rows that its caller makes."""
    return rollout_corr_helper.compute_rs_metrics(
        "token_k1",
        statistic,
        response_mask,
        response_mask.sum(dim=1) > 0,
        level="sequence",
        per_sequence_values=per_sequence,
        rollout_rs_threshold=0.9,
        rollout_rs_threshold_lower=0.4,
        apply_lower_threshold=True,
    )


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its dict of figures as one value: a dict would be taken for the fields by name."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> tuple[Any]:
        return (function(*args, **kwargs),)

    return called


def corrections() -> dict[str, Case]:
    """The parts of rollout correction."""
    helper, thresholds = rollout_corr_helper, {"rollout_rs": "token_k1", "rollout_rs_threshold": "0.5_2.0"}
    both = {**thresholds, "rollout_is": "token"}
    now = {"log_prob": "old_log_probs", "rollout_log_prob": "rollout_log_probs"}
    return {
        "compute_rollout_rejection_mask": case(Reject, helper.compute_rollout_rejection_mask, **thresholds),
        "compute_rollout_correction_weights": case(Weigh, helper.compute_rollout_correction_weights),
        "compute_is_metrics": case(
            WeightFigures,
            _written(helper.compute_is_metrics),
            {"raw_rollout_is_weights": "raw", "log_ratio_for_metrics": "log_ratio"},
            {"log_ratio": "weights of whole texts are compared with it"},
            rollout_is="token",
            rollout_is_threshold=1.1,
        ),
        "compute_rs_metrics": case(RejectionFigures, _written(_rejected)),
        "compute_offpolicy_metrics": case(OffPolicyFigures, _written(helper.compute_offpolicy_metrics), OLD_TO_NEW),
        "compute_rollout_corr_metrics_from_logprobs": case(
            OffPolicyFigures, _written(helper.compute_rollout_corr_metrics_from_logprobs), now
        ),
        "compute_rollout_correction_and_rejection_mask": case(
            WeighAndReject, helper.compute_rollout_correction_and_rejection_mask, OLD_TO_NEW, **both
        ),
    }


# --- figures ----------------------------------------------------------------------------------------------------------


class Speculation(StageSchema):
    """How well speculative decoding guessed."""

    class Reads(BatchSchema):
        spec_num_draft_tokens: f.SpecNumDraftTokens
        spec_num_accepted_tokens: f.SpecNumAcceptedTokens
        spec_num_verify_steps: f.SpecNumVerifySteps

    class Writes(BatchSchema):
        metrics: f.Metrics


class ExpertLoad(StageSchema):
    """How evenly the tokens of the responses went to the experts."""

    class Reads(BatchSchema):
        responses: f.Responses
        prompts: f.Prompts
        routed_experts: f.RoutedExperts
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        metrics: f.Metrics


class OtherTokens(StageSchema):
    """How many tokens of a response are other ones than in another response."""

    class Reads(BatchSchema):
        responses: f.Responses
        others: Int64[Tensor, "batch response"]
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        found: Int64[Tensor, "batch"]


class Apart(StageSchema):
    """How far two log-probabilities of a token are apart, where it counts."""

    class Reads(BatchSchema):
        old_log_probs: f.OldLogProbs
        rollout_log_probs: f.RolloutLogProbs
        counts: Bool[Tensor, "batch response"]

    class Writes(BatchSchema):
        found: Meta[Any]


def _experts(routed_experts: Any, response_mask: Any, **_: Any) -> Any:
    return metric_utils.compute_rollout_moe_load_balance_metrics(routed_experts, response_mask, num_experts=4)


def figures() -> dict[str, Case]:
    """Figures of columns and tensors."""
    spec = {
        "spec_drafts": "spec_num_draft_tokens",
        "spec_accepts": "spec_num_accepted_tokens",
        "spec_verifies": "spec_num_verify_steps",
    }
    texts = {"tensor1": "responses", "tensor2": "others", "mask": "response_mask"}
    tensors = {"tensor1": "old_log_probs", "tensor2": "rollout_log_probs", "mask": "counts"}
    log_probs = {"log_probs1": "old_log_probs", "log_probs2": "rollout_log_probs", "mask": "counts"}
    widths = dict.fromkeys(("prompts", "responses"), "they are there for their width")
    return {
        "compute_spec_decode_metrics": case(Speculation, _written(ray_trainer.compute_spec_decode_metrics), spec),
        "compute_rollout_moe_load_balance_metrics": case(ExpertLoad, _written(_experts), not_used=widths),
        "calculate_token_list_diff": case(OtherTokens, debug_metrics.calculate_token_list_diff, texts),
        "calculate_log_prob_diff": case(Apart, debug_metrics.calculate_log_prob_diff, log_probs),
        "pearson_correlation_coefficient": case(Apart, debug_metrics.pearson_correlation_coefficient, tensors),
    }


CASES: dict[str, Case] = {**estimators(), **losses(), **penalties(), **corrections(), **figures()}
