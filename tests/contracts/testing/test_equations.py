"""Sizes of dims from arithmetic: what follows is derived, what is open is drawn, what contradicts is told apart."""

from __future__ import annotations

import numpy as np
import pytest

from batchpact.contracts.testing.equations import Equation, Problem, contradiction, solve
from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import parse_dims


def expression(text: str) -> Expression:
    found = parse_dims(text)[0].as_expression()
    assert found is not None
    return found


def problem(names: str, ranges: dict[str, tuple[int, int]] | None = None, **equations: int) -> Problem:
    """Equations by their text, `_plus_` and `_by_` for the signs."""
    texts = {text.replace("_plus_", "+").replace("_by_", "*"): size for text, size in equations.items()}
    made = [Equation(expression(text), size, f"in {text}") for text, size in texts.items()]
    return Problem(names.split(), made, [], ranges or {})


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        (problem("a b", a_plus_b=9, a=4), {"a": 4, "b": 5}),
        (problem("a b", a_by_b=512, a=4), {"a": 4, "b": 128}),
        (problem("a b c", a_plus_b=9, b_plus_c=7, a=9), {"a": 9, "b": 0, "c": 7}),
    ],
)
def test_what_follows_is_derived(asked: Problem, sizes: dict[str, int]) -> None:
    assert solve(asked, rng()) == sizes


def test_what_is_open_is_drawn_within_its_range() -> None:
    for _ in range(20):
        found = solve(problem("a b", {"a": (3, 4)}, a_plus_b=512), rng())
        assert found is not None and found["a"] in (3, 4) and found["a"] + found["b"] == 512


def test_every_axis_comes_to_a_size() -> None:
    asked = Problem(["a", "b"], [], [expression("a-b"), expression("a//(b-1)")])
    for seed in range(20):
        found = solve(asked, np.random.default_rng(seed))
        assert found is not None and found["a"] >= found["b"] > 1


def test_the_smallest_contradiction_is_told() -> None:
    asked = problem("a b c", a=4, c=2, a_plus_b=9, b=6)

    assert solve(asked, rng()) is None
    assert [str(each) for each in contradiction(asked, rng())] == ["a is 4 in a", "a+b is 9 in a+b", "b is 6 in b"]
