"""Rollout: the actor answers the prompts."""

import torch
from torch import Tensor

from batchpact.contracts import from_rows, stage
from batchpact.schemas.rl.grpo import Generate
from grpo_arithmetic.model import CausalTransformer, count_positions, sample
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.tokenizer import PAD_ID


class RolloutWorker:
    """Samples with the weights that the policy has at the moment."""

    def __init__(self, policy: Policy) -> None:
        """Sample from this policy."""
        self.policy = policy

    @stage
    def generate(self, batch: Generate.Reads) -> Generate.Writes:
        """Sample several responses to each prompt with the current policy."""
        origin = torch.arange(len(batch.prompts)).repeat_interleave(batch.n)
        rollout = generate(
            self.policy.model,
            batch.prompts[origin],
            response_length=self.policy.settings.response_length,
            temperature=batch.temperature,
            generator=self.policy.generator,
        )
        return from_rows(rollout, origin)


def generate(
    model: CausalTransformer,
    prompts: Tensor,
    *,
    response_length: int,
    temperature: float,
    generator: torch.Generator | None = None,
) -> Generate.Writes:
    """Sample one response for each row of prompts; repeat the rows first to get several.

    Args:
        model: the actor's policy.
        prompts: int64 `[batch, prompt]`, padded on the left.
        response_length: the most tokens of a response.
        temperature: divides the logits; 0 decodes greedily.
        generator: source of randomness; torch's global one if None.

    Returns:
        What was generated, with the rows in the order of the prompts.
    """
    responses = sample(model, prompts, response_length, temperature, generator)
    input_ids = torch.cat((prompts, responses), dim=1)
    attention_mask = (input_ids != PAD_ID).long()
    return Generate.Writes(
        responses=responses,
        input_ids=input_ids,
        attention_mask=attention_mask,
        position_ids=count_positions(attention_mask),
        response_mask=attention_mask[:, prompts.shape[1] :],
    )
