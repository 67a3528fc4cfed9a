"""Update: the actor takes optimiser steps on the clipped policy loss."""

from collections import defaultdict

import torch
from torch import Tensor, nn

from batchpact.contracts import stage
from batchpact.schemas.rl.grpo import UpdateActor
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.stages.log_probs import response_logits, token_log_probs


class UpdateWorker:
    """Trains the policy."""

    def __init__(self, policy: Policy) -> None:
        """Train this policy, in place."""
        self.policy = policy

    @stage
    def update_actor(self, batch: UpdateActor.Reads) -> UpdateActor.Writes:
        """Take optimiser steps on the clipped policy loss, with a KL term where a reference is there."""
        return UpdateActor.Writes(metrics=update_policy(self.policy, batch))


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


def update_policy(policy: Policy, batch: UpdateActor.Reads) -> dict[str, float]:
    """Take one optimiser step for each mini-batch of each epoch.

    Args:
        policy: trained in place.
        batch: what the policy sampled, how likely it was then, and how good it turned out.

    Returns:
        Metrics, each the mean over the optimiser steps: the loss without KL (`actor/pg_loss`), the share of tokens
        whose gradient was cut (`actor/pg_clipfrac`), how far the policy moved from the one that sampled
        (`actor/ppo_kl`) and from the reference (`actor/kl_loss`), both in nats, and the norm of the gradient before it
        was scaled down (`actor/grad_norm`).
    """
    settings = policy.settings
    rows_in_all = len(batch.responses)
    sums: defaultdict[str, float] = defaultdict(float)
    steps = 0
    for _ in range(settings.epochs):
        order = torch.randperm(rows_in_all, generator=policy.generator)
        for start in range(0, rows_in_all, settings.mini_batch):
            rows = order[start : start + settings.mini_batch]
            loss, figures = _mini_batch_loss(policy, batch, rows)
            policy.optimizer.zero_grad()
            torch.autograd.backward(loss)
            norm = nn.utils.clip_grad_norm_(policy.model.parameters(), settings.max_grad_norm)
            policy.optimizer.step()
            steps += 1
            for name, value in {**figures, "actor/grad_norm": norm}.items():
                sums[name] += value.item()
    return {name: total / steps for name, total in sums.items()}


def _mini_batch_loss(policy: Policy, batch: UpdateActor.Reads, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of some rows, a scalar with a gradient, and what it is made of, scalars without one."""
    logits = response_logits(
        policy.model,
        batch.input_ids[rows],
        batch.attention_mask[rows],
        batch.position_ids[rows],
        batch.responses.shape[1],
        batch.temperature,
    )
    log_probs = token_log_probs(logits, batch.responses[rows])
    mask, old_log_probs = batch.response_mask[rows], batch.old_log_probs[rows]
    loss, clip_fraction = clipped_policy_loss(
        log_probs, old_log_probs, batch.advantages[rows], mask, clip_ratio=batch.clip_ratio
    )
    figures = {
        "actor/pg_loss": loss.detach(),
        "actor/pg_clipfrac": clip_fraction,
        "actor/ppo_kl": masked_mean(old_log_probs - log_probs.detach(), mask),
    }
    if batch.ref_log_prob is not None and batch.kl_loss_coef > 0:
        divergence = kl_divergence(log_probs, batch.ref_log_prob[rows], mask)
        loss = loss + batch.kl_loss_coef * divergence
        figures["actor/kl_loss"] = divergence.detach()
    return loss, figures
