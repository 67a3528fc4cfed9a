"""How declarations stand to each other."""

from __future__ import annotations

import pytest

from batchpact.contracts.lock.relation import Relation, between, relation, together

SAME, NARROWER, WIDER, REPLACED = Relation


@pytest.mark.parametrize(
    ("narrows", "widens", "expected"),
    [(True, True, SAME), (True, False, NARROWER), (False, True, WIDER), (False, False, REPLACED)],
)
def test_between(narrows: bool, widens: bool, expected: Relation) -> None:
    assert between(narrows=narrows, widens=widens) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"), [({1}, {1}, SAME), ({1, 2}, {1}, NARROWER), ({1}, {1, 2}, WIDER), ({1}, {2}, REPLACED)]
)
def test_of_two_by_what_they_admit(old: set[int], new: set[int], expected: Relation) -> None:
    assert relation(old, new, lambda wanted, written: written <= wanted) is expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], SAME),
        ([SAME, SAME], SAME),
        ([SAME, WIDER, WIDER], WIDER),
        ([NARROWER, SAME], NARROWER),
        ([NARROWER, WIDER], REPLACED),
        ([REPLACED, SAME], REPLACED),
    ],
)
def test_of_several_things_at_once(parts: list[Relation], expected: Relation) -> None:
    assert together(parts) is expected
