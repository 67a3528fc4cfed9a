"""Conditions as data: which questions stand in one, and how a value passes a test."""

from __future__ import annotations

from enum import Enum

from batchpact.schemas import config, meta, step
from batchpact.schemas.condition_specs import (
    UNKNOWN,
    SubjectSpec,
    meaning,
    names_in,
    passes,
    questions_in,
    subjects_in,
    with_subjects,
    words,
)


class Estimator(Enum):
    GAE = "gae"


def test_every_question_is_found_in_its_order() -> None:
    condition = ((config("a") == 1) & ~meta("b")) | (config("a") > 3)

    assert [(str(test.subject), test.test, test.value) for test in questions_in(condition.spec)] == [
        ("a", "==", 1),
        ("meta b", "truthy", None),
        ("a", ">", 3),
    ]


def test_a_question_about_two_subjects_looks_at_both() -> None:
    condition = (meta("validate") | (config("warmup") <= step("now"))).spec

    assert list(map(str, subjects_in(condition))) == ["meta validate", "warmup", "now"]
    other = with_subjects(condition, lambda subject: subject.model_copy(update={"name": subject.name.upper()}))
    assert words(other) == "meta VALIDATE or WARMUP <= NOW"


def test_an_enum_passes_as_its_value() -> None:
    (test,) = questions_in((config("adv_estimator") == "gae").spec)

    assert passes(test, Estimator.GAE)


def test_what_is_unknown_says_so() -> None:
    assert repr(UNKNOWN) == "UNKNOWN"
    assert str(SubjectSpec(source="step", name="global_steps")) == "global_steps"


def test_the_names_that_words_leave_alone_are_those_inside() -> None:
    inner = (config("a") | config("b")).named("inner")
    middle = (inner & ~config("c")).named("middle")
    whole = (~middle & inner).named("whole")

    assert words(whole.spec) == "whole (not middle and inner)"
    assert {name: meaning(part) for name, part in names_in(whole.spec).items()} == {
        "middle": "inner and not c",
        "inner": "a or b",
    }
    assert names_in(inner.spec) == {}
