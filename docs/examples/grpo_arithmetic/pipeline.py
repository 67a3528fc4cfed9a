"""The pipeline of one GRPO step: its stages in their order, as the settings ask for them."""

from collections.abc import Callable
from typing import Any

from batchpact.contracts import Pipeline
from batchpact.schemas.rl.grpo import PromptBatch
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.stages.advantage import compute_advantage, kl_in_reward, use_scores
from grpo_arithmetic.stages.log_probs import ActorWorker, ReferenceWorker
from grpo_arithmetic.stages.reward import score_answers
from grpo_arithmetic.stages.rollout import RolloutWorker
from grpo_arithmetic.stages.update import UpdateWorker


def grpo_stages(policy: Policy) -> list[Callable[..., Any]]:
    """The stages of a step; the reference policy is copied from the policy as it is now, if anything needs it."""
    settings = policy.settings
    needs_reference = settings.use_kl_in_reward or settings.use_kl_loss
    return [
        RolloutWorker(policy).generate,
        score_answers,
        ActorWorker(policy).compute_old_log_prob,
        *([ReferenceWorker(policy).compute_ref_log_prob] if needs_reference else []),
        kl_in_reward if settings.use_kl_in_reward else use_scores,
        compute_advantage,
        UpdateWorker(policy).update_actor,
    ]


def grpo_pipeline(policy: Policy) -> Pipeline:
    """One GRPO step, from prompts to metrics."""
    return Pipeline("grpo_arithmetic", inputs=PromptBatch, stages=grpo_stages(policy), outputs=("metrics", "returns"))


plan = grpo_pipeline(Policy(Settings()))
"""The pipeline over an untrained policy, for `batchpact check`."""
