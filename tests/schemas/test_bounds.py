"""The rules of a field on a value that stands alone."""

import math
from typing import Any

import pytest

from batchpact.schemas import RuleSpec
from batchpact.schemas.bounds import BOUNDS, bounded
from batchpact.schemas.python_types import mismatch


def wrong(live: object, value: object, *rules: tuple[str, Any]) -> str | None:
    return mismatch(bounded(live, [RuleSpec(kind=kind, value=limit) for kind, limit in rules]), value)


def test_a_type_without_rules_stays_the_type() -> None:
    assert bounded(list[int], ()) == list[int]


@pytest.mark.parametrize(
    ("kind", "right", "text"),
    [
        ("ge", [1, 2], "Input should be greater than or equal to 1"),
        ("gt", [2], "Input should be greater than 1"),
        ("le", [0, 1], "Input should be less than or equal to 1"),
        ("lt", [0], "Input should be less than 1"),
    ],
)
def test_a_bound_is_checked_on_a_value_of_any_type(kind: str, right: list[int], text: str) -> None:
    for live in (int, Any):
        verdicts = {value: wrong(live, value, (kind, 1)) for value in (0, 1, 2)}
        assert verdicts == {value: None if value in right else text for value in (0, 1, 2)}


def test_every_bound_has_a_test() -> None:
    assert set(BOUNDS) == {"ge", "gt", "le", "lt"}


def test_finite_and_binary_are_checked_on_a_number() -> None:
    assert [wrong(float, value, ("finite", None)) for value in (0, 0.5)] == [None, None]
    assert {wrong(float, value, ("finite", None)) for value in (math.nan, math.inf, -math.inf)} == {
        "Input should be a finite number"
    }
    assert [wrong(Any, value, ("binary", None)) for value in (0, 1, True, 0.0)] == [None] * 4
    assert {wrong(Any, value, ("binary", None)) for value in (2, 0.5, "1", None)} == {"Input should be 0 or 1"}


def test_several_rules_hold_together_and_the_type_comes_first() -> None:
    rules = [("finite", None), ("ge", 0), ("lt", 2)]

    assert wrong(float, 1.5, *rules) is None
    assert wrong(float, "1", *rules) == "Input should be a valid number"
    assert wrong(float, math.inf, *rules) == "Input should be a finite number"
    assert wrong(float, 2.0, *rules) == "Input should be less than 2"
