"""Sizes of dims from what is known about them: names, and arithmetic over names that has a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from batchpact.schemas.expressions import Expression

_TRIES = 200
_SMALLEST, _LARGEST = 1, 6


class Equation(NamedTuple):
    """What arithmetic over dims has to come to, and in words who says so."""

    expression: Expression
    size: int
    source: str

    def __str__(self) -> str:
        return f"{self.expression} is {self.size} {self.source}"


class Problem(NamedTuple):
    """What sizes are wanted.

    Attributes:
        names: the names that need a size.
        equations: what has to hold.
        axes: arithmetic that has to come to a size at all.
        ranges: the smallest and the largest size of a name, where a field says so.
    """

    names: Sequence[str]
    equations: Sequence[Equation]
    axes: Sequence[Expression]
    ranges: Mapping[str, tuple[int, int]] = {}


def solve(problem: Problem, rng: np.random.Generator) -> dict[str, int] | None:
    """A size for every name; None where none was found."""
    free = not problem.equations
    for _ in range(_TRIES):
        sizes: dict[str, int] = {}
        if not (free or _derive(problem, sizes)):
            return None  # nothing was drawn yet, so no other draw is better
        for name in problem.names:
            if name not in sizes:
                sizes[name] = _drawn(name, problem, sizes, rng)
                if not (free or _derive(problem, sizes)):
                    break
        else:
            if all((size := axis.evaluate(sizes)) is not None and size >= 0 for axis in problem.axes):
                return sizes
    return None


def contradiction(problem: Problem, rng: np.random.Generator) -> list[Equation]:
    """A smallest choice of the equations that nothing solves together."""
    kept = list(problem.equations)
    for equation in problem.equations:
        fewer = [other for other in kept if other is not equation]
        if solve(problem._replace(equations=fewer), rng) is None:
            kept = fewer
    return kept


def _derive(problem: Problem, sizes: dict[str, int]) -> bool:
    """Add the sizes that follow from the equations; False where one of these cannot hold any more."""
    open_ones = list(problem.equations)
    while open_ones:
        left: list[Equation] = []
        for equation in open_ones:
            unbound = equation.expression.unbound(sizes)
            if len(unbound) > 1:
                left.append(equation)
            elif not unbound:
                if equation.expression.evaluate(sizes) != equation.size:
                    return False
            else:
                found = _last_name(equation, unbound[0], sizes)
                if found is None or not _allowed(unbound[0], found, problem):
                    return False
                sizes[unbound[0]] = found
        if len(left) == len(open_ones):
            return True
        open_ones = left
    return True


def _last_name(equation: Equation, name: str, sizes: Mapping[str, int]) -> int | None:
    """The size of the only name of an equation that has none."""
    expression, size = equation.expression, equation.size
    if expression.isolates(name):
        return expression.solve(name, size, sizes)
    for guess in range(4 * abs(size) + 4):  # n*n, or n//2: whoever declares it means small numbers
        if expression.evaluate({**sizes, name: guess}) == size:
            return guess
    return None


def _allowed(name: str, size: int, problem: Problem) -> bool:
    low, high = problem.ranges.get(name, (0, size))
    return low <= size <= high


def _drawn(name: str, problem: Problem, sizes: Mapping[str, int], rng: np.random.Generator) -> int:
    low, high = problem.ranges.get(name, (_SMALLEST, _LARGEST))
    low, high = max(low, 0), min(high, max(low, 0) + _LARGEST)
    for equation in problem.equations:  # a sum that is known leaves no more than that for one of its names
        factor = dict(equation.expression.terms).get((name,))
        if factor == 1 and all(other > 0 for _, other in equation.expression.terms):
            high = max(min(high, equation.size), min(low, equation.size))
            low = min(low, high)
    return int(rng.integers(low, max(low, high), endpoint=True))
