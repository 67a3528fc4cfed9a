"""Keys that are asked about together: classes of combinations, and groups of keys."""

from __future__ import annotations

from collections.abc import Mapping

from batchpact.contracts.proof.cases import Key
from batchpact.contracts.proof.parts import Part, joined
from batchpact.schemas import config
from batchpact.schemas.condition_specs import ConditionSpec

A, B, C = (("config", name) for name in "abc")
EITHER = (config("a") | config("b")).spec


def first_case(condition: ConditionSpec, cases: Mapping[Key, int]) -> bool:
    """Whether the key that is asked about, or one of them, has its first case."""
    return 0 in cases.values() if condition is EITHER else cases[A] == 0


def test_combinations_that_answer_alike_are_one_class() -> None:
    part = Part({A: 2, B: 3}, {"either": EITHER}, first_case)

    assert part.classes == 2
    assert list(part.answering("either")) == [0]
    assert part.cases_in([1]) == {A: {1}, B: {1, 2}}
    assert part.combination_of(1) == {A: 1, B: 1}
    assert part.classes_where({A: (1,)}) == {0, 1}
    assert part.classes_where({A: (1,), B: (2,)}) == {1}


def test_another_question_tells_more_of_them_apart() -> None:
    part = Part({A: 2, B: 3}, {"either": EITHER, "a": config("a").spec}, first_case)

    assert part.classes == 3
    assert [list(part.answering(text)) for text in ("either", "a")] == [[0, 1], [0]]


def test_keys_that_stand_together_are_in_one_group() -> None:
    assert joined([A, B, C], [{C, A}, {B}]) == [[A, C], [B]]
    assert joined([A, B, C], [{C, B}, {A, B}]) == [[A, B, C]]
    assert joined([A, B, C], []) == [[A], [B], [C]]
