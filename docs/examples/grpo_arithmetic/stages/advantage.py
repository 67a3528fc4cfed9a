"""Advantages: each response is compared with the others to the same prompt."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from batchpact.contracts import stage
from batchpact.schemas.rl.grpo import ComputeAdvantage, KlInReward, UseScores

EPSILON = 1e-6


@stage
def kl_in_reward(batch: KlInReward.Reads) -> KlInReward.Writes:
    """Subtract the KL penalty against the reference policy from the token-level scores."""
    rewards = apply_kl_penalty(
        batch.token_level_scores,
        batch.old_log_probs,
        batch.ref_log_prob,
        batch.response_mask,
        kl_coef=batch.kl_coef,
    )
    return KlInReward.Writes(token_level_rewards=rewards)


@stage
def use_scores(batch: UseScores.Reads) -> UseScores.Writes:
    """Take the token-level scores as the rewards."""
    return UseScores.Writes(token_level_rewards=batch.token_level_scores)


@stage
def compute_advantage(batch: ComputeAdvantage.Reads) -> ComputeAdvantage.Writes:
    """Compare the reward of each response with the others of its group."""
    advantages, returns = group_advantages(batch.token_level_rewards, batch.response_mask, batch.uid)
    return ComputeAdvantage.Writes(advantages=advantages, returns=returns)


def apply_kl_penalty(
    token_level_scores: Tensor,
    old_log_probs: Tensor,
    ref_log_prob: Tensor,
    response_mask: Tensor,
    *,
    kl_coef: float,
) -> Tensor:
    """Subtract the KL penalty against the reference policy from the scores.

    The reward of token t is `score_t - kl_coef * (old_log_probs_t - ref_log_prob_t)`, as in Ouyang et al. 2022,
    arXiv:2203.02155, equation 2, spread over the tokens. GRPO's own paper puts the KL into the loss instead.

    Args:
        token_level_scores: float32 `[batch, response]`.
        old_log_probs: float32 `[batch, response]`, in nats.
        ref_log_prob: float32 `[batch, response]`, in nats.
        response_mask: int64 `[batch, response]`.
        kl_coef: reward that one nat costs.

    Returns:
        token_level_rewards, float32 `[batch, response]`; zero at padded columns.
    """
    return (token_level_scores - kl_coef * (old_log_probs - ref_log_prob)) * response_mask


def group_advantages(
    token_level_rewards: Tensor, response_mask: Tensor, uid: npt.NDArray[np.object_]
) -> tuple[Tensor, Tensor]:
    """Normalise the reward of each response within its group.

    The advantage of every token of response i is `(r_i - mean(r)) / std(r)`, where r are the rewards of all responses
    to one prompt: Shao et al. 2024, "DeepSeekMath", arXiv:2402.03300, section 4.1.2. A group whose rewards are all
    equal teaches nothing and gets advantage zero.

    Args:
        token_level_rewards: float32 `[batch, response]`.
        response_mask: int64 `[batch, response]`.
        uid: one str a row, `[batch]`; rows with the same uid answer the same prompt.

    Returns:
        advantages and returns, both float32 `[batch, response]` and zero at padded columns. GRPO has no critic, so they
        are the same numbers.
    """
    rewards = (token_level_rewards * response_mask).sum(dim=1)
    names, rows = np.unique(uid.astype(str), return_inverse=True)
    group = torch.from_numpy(rows.astype(np.int64))
    size = torch.zeros(len(names)).index_add_(0, group, torch.ones_like(rewards))
    mean = torch.zeros(len(names)).index_add_(0, group, rewards) / size
    deviation = rewards - mean[group]
    variance = torch.zeros(len(names)).index_add_(0, group, deviation.square()) / size
    advantages = (deviation / (variance.sqrt()[group] + EPSILON))[:, None] * response_mask
    return advantages, advantages.clone()
