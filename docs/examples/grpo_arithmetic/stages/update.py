"""Update: the actor takes optimiser steps on the clipped policy loss."""

from collections import defaultdict

import torch
from torch import Tensor, nn

from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.stages.log_probs import response_logits, token_log_probs
from grpo_arithmetic.stages.rollout import Rollout


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the valid tokens of all rows; both `[batch, response]`, the result a scalar."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def clipped_policy_loss(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, response_mask: Tensor, *, clip_ratio: float
) -> tuple[Tensor, Tensor]:
    """The clipped surrogate loss of Schulman et al. 2017, arXiv:1707.06347, equation 7, averaged over tokens.

    With ratio `w = exp(log_probs - old_log_probs)` it is `-min(w * A, clip(w, 1 - e, 1 + e) * A)`. The mean is over all
    tokens of the mini-batch, as in Yu et al. 2025, "DAPO", arXiv:2503.14476, equation 8; the GRPO paper first takes it
    within each response.

    Args:
        log_probs: float32 `[batch, response]`, in nats, with a gradient.
        old_log_probs: float32 `[batch, response]`, in nats, of the policy that sampled.
        advantages: float32 `[batch, response]`.
        response_mask: int64 `[batch, response]`.
        clip_ratio: e, how far the ratio may move before its gradient is cut.

    Returns:
        The loss and the share of tokens whose gradient is cut, both scalars.
    """
    ratio = (log_probs - old_log_probs).exp()
    loss = -ratio * advantages
    clipped = -ratio.clamp(1 - clip_ratio, 1 + clip_ratio) * advantages
    clip_fraction = masked_mean((clipped > loss).float(), response_mask)
    return masked_mean(torch.maximum(loss, clipped), response_mask), clip_fraction.detach()


def kl_divergence(log_probs: Tensor, ref_log_prob: Tensor, response_mask: Tensor) -> Tensor:
    """An unbiased, never negative estimate of KL(policy || reference), averaged over tokens.

    The estimator is k3 of Schulman 2020, "Approximating KL Divergence" (http://joschu.net/blog/kl-approx.html), which
    is equation 4 of Shao et al. 2024, arXiv:2402.03300: with `d = ref_log_prob - log_probs` it is `exp(d) - d - 1`.

    Args:
        log_probs: float32 `[batch, response]`, in nats, with a gradient.
        ref_log_prob: float32 `[batch, response]`, in nats.
        response_mask: int64 `[batch, response]`.

    Returns:
        The divergence in nats, a scalar.
    """
    # A token that the policy has all but unlearnt would overflow the exponential.
    difference = (ref_log_prob - log_probs).clamp(-20, 20)
    return masked_mean(difference.exp() - difference - 1, response_mask)


def update_policy(
    model: CausalTransformer,
    optimizer: torch.optim.Optimizer,
    rollout: Rollout,
    old_log_probs: Tensor,
    advantages: Tensor,
    ref_log_prob: Tensor | None,
    settings: Settings,
    generator: torch.Generator | None = None,
) -> dict[str, float]:
    """Take one optimiser step for each mini-batch of each epoch.

    Args:
        model: the actor's policy, trained in place.
        optimizer: holds the parameters of `model`.
        rollout: what the old policy generated.
        old_log_probs: float32 `[batch, response]`, in nats.
        advantages: float32 `[batch, response]`.
        ref_log_prob: float32 `[batch, response]`, in nats; None leaves the KL divergence out of the loss.
        settings: those of the update.
        generator: shuffles the rows; torch's global one if None.

    Returns:
        Metrics, each the mean over the optimiser steps: the loss without KL (`actor/pg_loss`), the share of tokens
        whose gradient was cut (`actor/pg_clipfrac`), how far the policy moved from the one that sampled
        (`actor/ppo_kl`) and from the reference (`actor/kl_loss`), both in nats, and the norm of the gradient before it
        was scaled down (`actor/grad_norm`).
    """
    batch, response_length = rollout.responses.shape
    sums: defaultdict[str, float] = defaultdict(float)
    steps = 0
    for _ in range(settings.epochs):
        order = torch.randperm(batch, generator=generator)
        for start in range(0, batch, settings.mini_batch):
            rows = order[start : start + settings.mini_batch]
            logits = response_logits(
                model,
                rollout.input_ids[rows],
                rollout.attention_mask[rows],
                rollout.position_ids[rows],
                response_length,
                settings.temperature,
            )
            log_probs, mask = token_log_probs(logits, rollout.responses[rows]), rollout.response_mask[rows]
            loss, clip_fraction = clipped_policy_loss(
                log_probs, old_log_probs[rows], advantages[rows], mask, clip_ratio=settings.clip_ratio
            )
            sums["actor/pg_loss"] += loss.item()
            sums["actor/pg_clipfrac"] += clip_fraction.item()
            sums["actor/ppo_kl"] += masked_mean(old_log_probs[rows] - log_probs.detach(), mask).item()
            if ref_log_prob is not None:
                kl_loss = kl_divergence(log_probs, ref_log_prob[rows], mask)
                loss = loss + settings.kl_loss_coef * kl_loss
                sums["actor/kl_loss"] += kl_loss.item()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            sums["actor/grad_norm"] += nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm).item()
            optimizer.step()
            steps += 1
    return {name: total / steps for name, total in sums.items()}
