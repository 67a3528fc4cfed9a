"""Additions as text."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from grpo_arithmetic import tokenizer


@dataclass(frozen=True)
class Problem:
    """A question and its only right answer, for example `17+25=` and `42`."""

    prompt: str
    answer: str


def split_problems(largest_operand: int, held_out: int, seed: int) -> tuple[list[Problem], list[Problem]]:
    """Shuffle every addition of two operands and cut the list in two.

    Args:
        largest_operand: operands go from 0 to this number.
        held_out: number of problems for evaluation.
        seed: seed of the shuffle.

    Returns:
        The problems for training and the problems for evaluation; none is in both.

    Raises:
        ValueError: nothing would be left for training or for evaluation.
    """
    operands = range(largest_operand + 1)
    problems = [Problem(f"{a}+{b}=", str(a + b)) for a in operands for b in operands]
    if not 0 < held_out < len(problems):
        raise ValueError(f"held_out must lie between 1 and {len(problems) - 1}, got {held_out}")
    random.Random(seed).shuffle(problems)
    return problems[held_out:], problems[:held_out]


def encode_prompts(problems: Sequence[Problem], prompt_length: int) -> Tensor:
    """The prompts of the problems as token ids, int64 `[len(problems), prompt_length]`, padded on the left."""
    return tokenizer.pad([tokenizer.encode(p.prompt) for p in problems], prompt_length, side="left")
