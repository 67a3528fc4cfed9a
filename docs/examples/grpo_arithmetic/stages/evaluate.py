"""Evaluation: the share of held-out problems that the policy answers right."""

from collections.abc import Sequence

import torch

from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.problems import Problem, encode_prompts
from grpo_arithmetic.stages.reward import score
from grpo_arithmetic.stages.rollout import generate


def held_out_accuracy(
    model: CausalTransformer,
    problems: Sequence[Problem],
    *,
    prompt_length: int,
    response_length: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> float:
    """Answer each problem once.

    Greedy decoding shows the most likely answer only, and a small change of the policy can flip it everywhere at once;
    sampling at temperature 1 shows how sure the policy is.

    Args:
        model: the policy.
        problems: held-out problems.
        prompt_length: prompts are padded to this many tokens.
        response_length: the most tokens of a response.
        temperature: divides the logits; 0 decodes greedily.
        generator: source of randomness; torch's global one if None.

    Returns:
        The share of right answers, from 0 to 1.
    """
    prompts = encode_prompts(problems, prompt_length)
    rollout = generate(model, prompts, response_length=response_length, temperature=temperature, generator=generator)
    scores = score(rollout.responses, rollout.response_mask, [p.answer for p in problems])
    return scores.sum().item() / len(problems)
