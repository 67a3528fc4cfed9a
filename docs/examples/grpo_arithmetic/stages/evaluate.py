"""Evaluation: the share of held-out problems that the policy answers right, decoding greedily."""

from collections.abc import Sequence

from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.problems import Problem, encode_prompts
from grpo_arithmetic.stages.reward import score
from grpo_arithmetic.stages.rollout import generate


def greedy_accuracy(
    model: CausalTransformer, problems: Sequence[Problem], *, prompt_length: int, response_length: int
) -> float:
    """Answer each problem once with the most likely tokens.

    Args:
        model: the policy.
        problems: held-out problems.
        prompt_length: prompts are padded to this many tokens.
        response_length: the most tokens of a response.

    Returns:
        The share of right answers, from 0 to 1.
    """
    prompts = encode_prompts(problems, prompt_length)
    rollout = generate(model, prompts, response_length=response_length, temperature=0)
    scores = score(rollout.responses, rollout.response_mask, [p.answer for p in problems])
    return scores.sum().item() / len(problems)
