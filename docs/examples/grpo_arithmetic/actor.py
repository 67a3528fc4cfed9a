"""The two holders of weights: the actor, which learns, and the reference, which does not."""

import copy

import torch
from torch import Tensor

from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.stages.log_probs import compute_log_probs
from grpo_arithmetic.stages.rollout import Rollout, generate
from grpo_arithmetic.stages.update import update_policy


class Actor:
    """The policy that answers, and its optimiser."""

    def __init__(self, model: CausalTransformer, settings: Settings) -> None:
        """Take over a model, which `update` will train in place."""
        self.model = model
        self.settings = settings
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
        self.generator = torch.Generator().manual_seed(settings.seed)

    def generate(self, prompts: Tensor) -> Rollout:
        """Sample one response for each row of `prompts`, int64 `[batch, prompt]`."""
        return generate(
            self.model,
            prompts,
            response_length=self.settings.response_length,
            temperature=self.settings.temperature,
            generator=self.generator,
        )

    def compute_log_prob(self, rollout: Rollout) -> Tensor:
        """old_log_probs, float32 `[batch, response]`: how likely the policy finds its own responses, in nats."""
        return compute_log_probs(
            self.model,
            rollout.responses,
            rollout.input_ids,
            rollout.attention_mask,
            rollout.position_ids,
            temperature=self.settings.temperature,
        )

    def update(
        self, rollout: Rollout, old_log_probs: Tensor, advantages: Tensor, ref_log_prob: Tensor | None
    ) -> dict[str, float]:
        """Train on a rollout, with a KL loss where `ref_log_prob` is given; returns metrics."""
        return update_policy(
            self.model,
            self.optimizer,
            rollout,
            old_log_probs,
            advantages,
            ref_log_prob,
            self.settings,
            self.generator,
        )


class Reference:
    """The policy as it was before GRPO, frozen."""

    def __init__(self, model: CausalTransformer, settings: Settings) -> None:
        """Copy a model, so that training it later does not move the reference."""
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.settings = settings

    def compute_ref_log_prob(self, rollout: Rollout) -> Tensor:
        """ref_log_prob, float32 `[batch, response]`: how likely the reference finds the responses, in nats."""
        return compute_log_probs(
            self.model,
            rollout.responses,
            rollout.input_ids,
            rollout.attention_mask,
            rollout.position_ids,
            temperature=self.settings.temperature,
        )
