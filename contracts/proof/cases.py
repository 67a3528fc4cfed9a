"""What conditions ask about, and what their answers tell apart: constants, intervals between them, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from batchpact.contracts.configuration import ABSENT
from batchpact.schemas.condition_specs import SubjectSpec, TestSpec, passes, subjects_of

Key: TypeAlias = "tuple[str, str]"
"""What a question is about: where a subject stands, and its name."""

_OTHER = "something else"
_SET = "something"


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
    return " and ".join(map(str, subjects_of(test)))


def key_of(test: TestSpec) -> Key:
    """What a question is about: a subject, or the order of two, which is as free as a subject of its own."""
    if test.than is None:
        return _name(test.subject)
    test = _forward(test)
    return " ".join(subject.source for subject in subjects_of(test)), about(test)


def question(test: TestSpec) -> str:
    """What a test asks, without its name; as text, in which True is not 1."""
    test = _forward(test)
    default = test.subject.default if test.than is None else (test.subject.default, test.than.default)
    return f"{test.test} {test.value!r} {default!r}"


def _forward(test: TestSpec) -> TestSpec:
    """The same question with its two subjects in the order of their names: `b >= a` asks what `a <= b` does."""
    if test.than is None or _name(test.subject) <= _name(test.than):
        return test
    return test.model_copy(update={"subject": test.than, "test": _BACKWARD[test.test], "than": test.subject})


def _name(subject: SubjectSpec) -> Key:
    return subject.source, subject.name


_BACKWARD = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def cases_of(key: Key, tests: Sequence[TestSpec]) -> list[Case]:
    """The values that the questions tell apart, the constants that stand in them first."""
    if key[0] == "present":
        places = ((True, "in the batch"), (False, "not in the batch"))
        return [Case((there,), f"{key[1]} {label}", label) for there, label in places]
    if tests[0].than is not None:
        return _orders(tests)
    constants: list[object] = []
    for test in tests:
        constants += test.value if isinstance(test.value, list) and test.test == "isin" else _compared(test)
    constants = list({repr(value): value for value in constants}.values())
    numbers = sorted({value for value in constants if isinstance(value, (int, float)) and not isinstance(value, bool)})
    line = _line(numbers)
    ranges = line if len(numbers) == len(constants) else []
    texts: list[object] = [value + "~" for value in constants if isinstance(value, str)]
    plain: list[object] = [True, False] if any(test.test == "truthy" for test in tests) else []
    others: list[object] = [_OTHER] if len(constants) > len(numbers) else [] if numbers or plain else [_SET]
    found: list[Case] = []
    name = str(tests[0].subject)
    for value in (*constants, *others, *line[::2], *plain, None, True, False, *texts, ABSENT):
        answers = _answers(tests, value)
        if all(case.answers != answers for case in found):
            alike = tuple(repr(other) for other in constants if _answers(tests, other) == answers)
            label = _range(ranges, [at for at, number in enumerate(ranges) if _answers(tests, number) == answers])
            label = label or ", ".join(alike) or _label(value)
            found.append(Case(answers, _words(name, value, constants), label, alike))
    return found


def _compared(test: TestSpec) -> list[object]:
    """What a subject is compared with."""
    return [] if test.value is None else [test.value]


def _line(numbers: Sequence[float]) -> list[float]:
    """Numbers that questions name, each between two that stand for everything on this side of it and on that."""
    if not numbers:
        return []
    between = [(low + high) / 2 for low, high in pairwise(numbers)]
    beside = [numbers[0] - 1, *between, numbers[-1] + 1]
    return [number for pair in zip(beside, [*numbers, beside[-1]], strict=True) for number in pair][:-1]


def _range(line: Sequence[float], alike: Sequence[int]) -> str:
    """Numbers that no question tells apart, by their places on a line: `1`, `> 1, <= 8`; empty where it is no range."""
    if not alike or len(alike) == len(line):
        return ""
    first, last = alike[0], alike[-1]
    holes = [at for at in range(first, last) if at not in alike]
    if any(at % 2 == 0 for at in holes):
        return ""
    if first == last and first % 2:
        return repr(line[first])
    low = "" if first == 0 else f">= {line[first]!r}" if first % 2 else f"> {line[first - 1]!r}"
    high = "" if last == len(line) - 1 else f"<= {line[last]!r}" if last % 2 else f"< {line[last + 1]!r}"
    return ", ".join(filter(None, (low, high, *(f"not {line[at]!r}" for at in holes))))


def _answers(tests: Sequence[TestSpec], value: object) -> tuple[bool, ...]:
    return tuple(passes(test, test.subject.default if value is ABSENT else value) for test in tests)


def _orders(tests: Sequence[TestSpec]) -> list[Case]:
    """The orders that two subjects can have, the first of the first question first; none where one is not there."""
    left, right = subjects_of(tests[0])
    found: dict[tuple[bool, ...], list[str]] = {}
    for order, values in _ORDERS.items():
        answers = tuple(
            passes(test, *(values if _name(test.subject) == _name(left) else values[::-1])) for test in tests
        )
        found.setdefault(answers, []).append(order)
    cases = []
    for answers, orders in found.items():
        sign = _SIGNS.get("".join(orders), "")
        cases.append(
            Case(answers, f"{left} {sign} {right}", sign)
            if sign
            else Case(answers, f"{left} has no order beside {right}", "no order")
        )
    return cases


_ORDERS: dict[str, tuple[object, object]] = {"<": (0, 1), "=": (0, 0), ">": (1, 0), "": (None, 0)}
_SIGNS = {"<": "<", "=": "==", ">": ">", "<=": "<=", "=>": ">=", "<>": "!="}
"""What is said of orders that no question tells apart."""


def _label(value: object) -> str:
    if value is ABSENT or value is None:
        return "not set"
    return "anything else" if value == _OTHER else "set" if value == _SET else repr(value)


def _words(name: str, value: object, constants: Sequence[object]) -> str:
    if value is ABSENT or value is None or value == _SET:
        return f"{name} {_label(value)}"
    if value == _OTHER:
        listed = " nor ".join(map(repr, constants))
        return f"{name} neither {listed}" if len(constants) > 1 else f"{name} not {listed}"
    return f"{name}={value!r}"
