"""Rules on values: which values one set of them admits beside another."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from batchpact.contracts.lock.relation import Relation
from batchpact.contracts.lock.values import values_relation
from batchpact.schemas import RuleSpec
from batchpact.schemas.values import _RULES


def rules(text: str) -> list[RuleSpec]:
    """`ge 0, finite` as rules."""
    found = []
    for part in filter(None, text.split(", ")):
        kind, _, value = part.partition(" ")
        found.append(RuleSpec(kind=kind, value=float(value) if value else None))
    return found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", Relation.SAME),
        ("ge 0", "ge 0", Relation.SAME),
        ("ge 0, le 1", "le 1, ge 0", Relation.SAME),
        ("ge 0, ge 1", "ge 1", Relation.SAME),
        ("", "ge 0", Relation.NARROWER),
        ("", "finite", Relation.NARROWER),
        ("ge 0", "gt 0", Relation.NARROWER),
        ("le 1", "lt 1", Relation.NARROWER),
        ("ge 0", "ge 0, finite", Relation.NARROWER),
        ("ge 0, le 1", "binary", Relation.NARROWER),
        ("finite", "binary", Relation.NARROWER),
        ("binary", "binary, ge 1", Relation.NARROWER),
        ("gt 0, le 1", "ge 0", Relation.WIDER),
        ("ge 0, le 1", "finite", Relation.WIDER),
        ("binary", "ge 0", Relation.WIDER),
        ("ge 0", "finite", Relation.REPLACED),
        ("ge 0, le 2", "ge 1, le 3", Relation.REPLACED),
        ("gt 0", "binary", Relation.REPLACED),
        ("gt 0, lt 1", "binary", Relation.REPLACED),
        ("binary", "ge 0.5, le 0.5", Relation.REPLACED),
        ("binary", "ge 1, le 1", Relation.NARROWER),
        ("binary, gt 1", "lt 0, gt 0", Relation.SAME),
    ],
)
def test_numbers(old: str, new: str, expected: Relation) -> None:
    assert values_relation(rules(old), rules(new), whole=False) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ge 0, le 1", "binary", Relation.SAME),
        ("gt 0", "ge 1", Relation.SAME),
        ("gt 0.5, lt 2.5", "ge 1, le 2", Relation.SAME),
        ("", "finite", Relation.SAME),
        ("ge 0", "binary", Relation.NARROWER),
        ("", "ge 0", Relation.NARROWER),
    ],
)
def test_whole_numbers(old: str, new: str, expected: Relation) -> None:
    assert values_relation(rules(old), rules(new), whole=True) is expected


def test_rules_of_which_nothing_is_known_admit_less_than_everything() -> None:
    """A bound on text, and a kind of rule that a later version has."""
    later, text = RuleSpec(kind="even"), RuleSpec(kind="ge", value="a")

    assert values_relation([], [later], whole=False) is Relation.NARROWER
    assert values_relation([later, text], [text], whole=False) is Relation.WIDER
    assert values_relation([text], [RuleSpec(kind="ge", value="b")], whole=False) is Relation.REPLACED
    assert values_relation([later], [later], whole=False) is Relation.SAME


LIMITS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])
RULE = st.one_of(
    st.builds(lambda kind, value: RuleSpec(kind=kind, value=value), st.sampled_from(["ge", "gt", "le", "lt"]), LIMITS),
    st.sampled_from([RuleSpec(kind="finite"), RuleSpec(kind="binary")]),
)
SOME = st.lists(RULE, max_size=3)
FLOATS = [-math.inf, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, math.inf, math.nan]


def admitted(found: list[RuleSpec], values: list[float], dtype: torch.dtype) -> set[str]:
    """The values that the rules of a tensor let through, by their texts, as NaN equals nothing."""
    tensor = torch.tensor(values, dtype=dtype)
    holds = torch.ones_like(tensor, dtype=torch.bool)
    for rule in found:
        value: JsonValue = rule.value
        holds &= _RULES[rule.kind](tensor, value)
    return {str(value) for value in tensor[holds].tolist()}


@given(SOME, SOME)
def test_what_is_said_about_rules_is_what_they_do(old: list[RuleSpec], new: list[RuleSpec]) -> None:
    """The values lie on, between and beyond the limits, so that no difference is missed."""
    before, after = (admitted(found, FLOATS, torch.float64) for found in (old, new))

    assert values_relation(old, new, whole=False) is expected(before, after)


@given(SOME, SOME)
def test_it_is_exact_for_whole_numbers_too(old: list[RuleSpec], new: list[RuleSpec]) -> None:
    before, after = (admitted(found, list(range(-4, 5)), torch.int64) for found in (old, new))

    assert values_relation(old, new, whole=True) is expected(before, after)


def expected(before: set[str], after: set[str]) -> Relation:
    if before == after:
        return Relation.SAME
    if after < before:
        return Relation.NARROWER
    return Relation.WIDER if before < after else Relation.REPLACED
