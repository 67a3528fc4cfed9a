"""What conditions ask about, and what their answers tell apart: constants, intervals between them, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from batchpact.contracts.configuration import ABSENT
from batchpact.schemas.condition_specs import TestSpec, passes

Key: TypeAlias = "tuple[str, str]"
"""What a question is about: where a subject stands, and its name."""

_OTHER = "something else"


@dataclass(frozen=True, slots=True)
class Case:
    """Values of a subject that no question tells apart: what they answer, and one of them in words.

    `label` is what stands beside the subject where one is chosen; `values` are all of them that the questions name.
    """

    answers: tuple[bool, ...]
    text: str
    label: str
    values: tuple[str, ...] = ()


def about(test: TestSpec) -> str:
    """What a question is about, in words."""
    return str(test.subject) if test.than is None else f"{test.subject} and {test.than}"


def key_of(test: TestSpec) -> Key:
    """What a question is about: a subject, or the order of two, which is as free as a subject of its own."""
    if test.than is None:
        return test.subject.source, test.subject.name
    return f"{test.subject.source} {test.than.source}", about(test)


def question(test: TestSpec) -> str:
    """What a test asks, without its name; as text, in which True is not 1."""
    default = test.subject.default if test.than is None else (test.subject.default, test.than.default)
    return f"{test.test} {test.value!r} {default!r}"


def cases_of(key: Key, tests: Sequence[TestSpec]) -> list[Case]:
    """The values that the questions tell apart, the constants that stand in them first."""
    if key[0] == "present":
        places = ((True, "in the batch"), (False, "not in the batch"))
        return [Case((there,), f"{key[1]} {label}", label) for there, label in places]
    if tests[0].than is not None:
        return _orders(tests, str(tests[0].subject), str(tests[0].than))
    constants: list[object] = []
    for test in tests:
        constants += test.value if test.test == "isin" and isinstance(test.value, list) else [test.value]
    constants = list({repr(value): value for value in constants if value is not None}.values())
    numbers = sorted({value for value in constants if isinstance(value, (int, float)) and not isinstance(value, bool)})
    between: list[object] = [(low + high) / 2 for low, high in pairwise(numbers)]
    if numbers:
        between = [numbers[0] - 1, *between, numbers[-1] + 1]
    texts: list[object] = [value + "~" for value in constants if isinstance(value, str)]
    plain: list[object] = [True, False] if any(test.test == "truthy" for test in tests) else []
    others: list[object] = [_OTHER] if texts else []
    found: list[Case] = []
    name = str(tests[0].subject)
    for value in (*constants, *between, *others, *plain, None, True, False, *texts, ABSENT):
        answers = _answers(tests, value)
        if all(case.answers != answers for case in found):
            alike = tuple(repr(other) for other in constants if _answers(tests, other) == answers)
            label = ", ".join(alike) or _label(value)
            found.append(Case(answers, _words(name, value, constants), label, alike))
    return found


def _answers(tests: Sequence[TestSpec], value: object) -> tuple[bool, ...]:
    return tuple(passes(test, test.subject.default if value is ABSENT else value) for test in tests)


def _orders(tests: Sequence[TestSpec], left: str, right: str) -> list[Case]:
    """The orders that two subjects can have; where one is not there, they have none."""
    found: dict[tuple[bool, ...], Case] = {}
    orders = (
        ((0, 1), "<", "<"),
        ((0, 0), "==", "=="),
        ((1, 0), ">", ">"),
        ((None, 0), "has no order beside", "no order"),
    )
    for values, text, label in orders:
        answers = tuple(passes(test, *values) for test in tests)
        found.setdefault(answers, Case(answers, f"{left} {text} {right}", label))
    return list(found.values())


def _label(value: object) -> str:
    return "not set" if value is ABSENT or value is None else "anything else" if value == _OTHER else repr(value)


def _words(name: str, value: object, constants: Sequence[object]) -> str:
    if value is ABSENT or value is None:
        return f"{name} not set"
    if value == _OTHER:
        listed = " nor ".join(map(repr, constants))
        return f"{name} neither {listed}" if len(constants) > 1 else f"{name} not {listed}"
    return f"{name}={value!r}"
