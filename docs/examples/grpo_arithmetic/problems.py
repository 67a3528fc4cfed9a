"""Arithmetic problems as text."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A question and its only right answer, for example `17+25=` and `42`."""

    prompt: str
    answer: str


def all_problems(largest_operand: int) -> list[Problem]:
    """Every addition and subtraction of two operands from 0 to `largest_operand`."""
    operands = range(largest_operand + 1)
    sums = [Problem(f"{a}+{b}=", str(a + b)) for a in operands for b in operands]
    differences = [Problem(f"{a}-{b}=", str(a - b)) for a in operands for b in operands]
    return sums + differences


def split_problems(largest_operand: int, held_out: int, seed: int) -> tuple[list[Problem], list[Problem]]:
    """Shuffle all problems and cut them in two.

    Args:
        largest_operand: operands go from 0 to this number.
        held_out: number of problems for evaluation.
        seed: seed of the shuffle.

    Returns:
        The problems for training and the problems for evaluation; none is in both.

    Raises:
        ValueError: nothing would be left for training or for evaluation.
    """
    problems = all_problems(largest_operand)
    if not 0 < held_out < len(problems):
        raise ValueError(f"held_out must lie between 1 and {len(problems) - 1}, got {held_out}")
    random.Random(seed).shuffle(problems)
    return problems[held_out:], problems[:held_out]
