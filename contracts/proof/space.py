"""Every configuration that conditions can tell apart: a finite space, in which a condition is a set of points.

A subject such as `algorithm.adv_estimator` has as many cases as the questions asked about it can tell apart: one for
each constant, intervals between numbers, and the rest. A point of the space is one case for each subject; a set of
points is an integer with a bit for each point, so that implications over thousands of points are single operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import TypeAlias

from batchpact.contracts.configuration import ABSENT
from batchpact.schemas.condition_specs import (
    UNKNOWN,
    AllSpec,
    ConditionSpec,
    NotSpec,
    SubjectSpec,
    TestSpec,
    passes,
    questions_in,
)
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.text import quoted
from batchpact.schemas.violations import Violation

LARGEST = 1 << 20
"""Points of a space; beyond it a pipeline asks too many independent questions at once."""

_OTHER = "something else"
_EXACT = 3
"""Up to how many fixed keys the smallest configuration is searched for; beyond, keys are taken away one by one."""

Key = tuple[str, str]

Region: TypeAlias = Mapping[int, int]
"""A configuration of which some keys are fixed: the number of each of these, and that of its case."""


@dataclass(frozen=True, slots=True)
class Case:
    """Values of a subject that no question tells apart: what they answer, and one of them in words.

    `values` are all of them that the questions name; `label` is what stands beside the subject where one is chosen.
    """

    answers: tuple[bool, ...]
    text: str
    label: str
    values: tuple[str, ...] = ()


class Space:
    """The space of some conditions.

    Args:
        conditions: every condition that will be asked about.
        always: conditions that hold in every configuration that anybody runs.

    Raises:
        DeclarationError: if the conditions span too many points, or no point satisfies `always`.
    """

    def __init__(self, conditions: Iterable[ConditionSpec], always: Iterable[ConditionSpec] = ()) -> None:
        always = list(always)
        tests: dict[Key, dict[str, TestSpec]] = {}
        for condition in (*conditions, *always):
            for test in questions_in(condition):
                tests.setdefault(_key(test.subject), {}).setdefault(_question(test), test)
        self._tests = {key: list(asked.values()) for key, asked in tests.items()}
        self._places = {key: {text: at for at, text in enumerate(asked)} for key, asked in tests.items()}
        self._cases = {key: _cases(key, asked) for key, asked in self._tests.items()}
        self.points = 1
        for cases in self._cases.values():
            self.points *= len(cases)
        if self.points > LARGEST:
            names = quoted(name for _, name in tests)
            text = f"{self.points} configurations of {names}"
            raise _wrong(text, f"at most {LARGEST}; state what cannot be together, or check parts of the pipeline")
        self.everything = (1 << self.points) - 1
        self._sets: dict[tuple[Key, int], int] = {}
        stride = 1
        for key, cases in self._cases.items():
            for at in range(len(cases)):
                self._sets[key, at] = _repeated(((1 << stride) - 1) << (at * stride), stride * len(cases), self.points)
            stride *= len(cases)
        self.valid = self.everything
        for condition in always:
            self.valid &= self.points_of(condition)
        if not self.valid:
            raise _wrong("no configuration satisfies all of them", "constraints that can hold together")

    def points_of(self, condition: ConditionSpec | None, where: Callable[[str], tuple[int, int]] | None = None) -> int:
        """Where a condition holds; everywhere for None.

        Args:
            condition: what is asked.
            where: tells of a field where it is there for certain and where it may be, which is as free as a key.
        """
        if condition is None:
            return self.everything
        if isinstance(condition, TestSpec):
            key = _key(condition.subject)
            if key[0] == "present" and where is not None:
                certain, maybe = where(key[1])
                return certain | (maybe & self._sets[key, 0])
            at = self._places[key][_question(condition)]
            found = 0
            for number, case in enumerate(self._cases[key]):
                if case.answers[at]:
                    found |= self._sets[key, number]
            return found
        if isinstance(condition, NotSpec):
            return self.everything & ~self.points_of(condition.of, where)
        parts = [self.points_of(part, where) for part in condition.of]
        found = self.everything if isinstance(condition, AllSpec) else 0
        for part in parts:
            found = found & part if isinstance(condition, AllSpec) else found | part
        return found

    def where(self, look_up: Callable[[SubjectSpec], object]) -> int:
        """The points of one configuration: subjects that `look_up` does not know stay open."""
        found = self.everything
        for key, asked in self._tests.items():
            answers = []
            for test in asked:
                value = look_up(test.subject)
                answers.append(None if value is UNKNOWN else passes(test, value))
            if None not in answers:
                fitting = [at for at, case in enumerate(self._cases[key]) if list(case.answers) == answers]
                found &= self._sets[key, fitting[0]] if fitting else 0
        return found

    def smallest(self, points: int, among: int) -> str:
        """In words, a configuration with the fewest fixed keys that lies within a set; empty where all of them do.

        Args:
            points: the set.
            among: the configurations that there are.
        """
        return "" if among & ~points == 0 else self._words(self._smallest(points, among, points & among))

    def regions(self, points: int, among: int, most: int) -> tuple[list[Region], bool]:
        """A set as configurations with few fixed keys, the one with the fewest first.

        Args:
            points: the set.
            among: the configurations that there are.
            most: how many are wanted at most.

        Returns:
            The configurations, which together are the set or, where they would be too many, a part of it; and whether
            they are the whole.
        """
        left = points & among
        found: list[Region] = []
        while left and len(found) < most:
            fixed = self._smallest(points, among, left)
            found.append(fixed)
            left &= ~self._region(fixed, among)
        return found, not left

    def keys(self) -> list[tuple[str, list[Case]]]:
        """What conditions ask about, in words, and the cases of each."""
        return [(str(self._tests[key][0].subject), cases) for key, cases in self._cases.items()]

    def passing(self, test: TestSpec) -> tuple[int, list[int]]:
        """The number of a test's key, and those of the cases that pass it."""
        key = _key(test.subject)
        at = self._places[key][_question(test)]
        return list(self._cases).index(key), [n for n, case in enumerate(self._cases[key]) if case.answers[at]]

    def _smallest(self, points: int, among: int, wanted: int) -> Region:
        """The configuration with the fewest fixed keys that lies within a set and has points that are wanted."""
        keys = [
            number
            for number, (key, cases) in enumerate(self._cases.items())
            if len([1 for at in range(len(cases)) if self._sets[key, at] & among]) > 1
        ]
        sizes = [len(cases) for cases in self._cases.values()]
        for size in range(min(_EXACT, len(keys)) + 1):
            for chosen in combinations(keys, size):
                for cases in product(*(range(sizes[key]) for key in chosen)):
                    if self._within(fixed := dict(zip(chosen, cases, strict=True)), points, among, wanted):
                        return fixed
        found = self._one_of(wanted)
        for key in keys:
            fewer = {other: case for other, case in found.items() if other != key}
            if self._within(fewer, points, among, wanted):
                found = fewer
        return found

    def _within(self, fixed: Region, points: int, among: int, wanted: int) -> bool:
        region = self._region(fixed, among)
        return bool(region & wanted) and not region & ~points

    def _region(self, fixed: Region, among: int) -> int:
        """The points of a configuration."""
        keys = list(self._cases)
        for key, case in fixed.items():
            among &= self._sets[keys[key], case]
        return among

    def _one_of(self, points: int) -> Region:
        """All keys of the first point of a set."""
        point = (points & -points).bit_length() - 1
        fixed = {}
        for key, cases in enumerate(self._cases.values()):
            fixed[key] = point % len(cases)
            point //= len(cases)
        return fixed

    def _words(self, fixed: Region) -> str:
        cases = list(self._cases.values())
        return ", ".join(cases[key][case].text for key, case in fixed.items())


def _key(subject: SubjectSpec) -> Key:
    return subject.source, subject.name


def _question(test: TestSpec) -> str:
    """What a test asks, without its name; as text, in which True is not 1."""
    return f"{test.test} {test.value!r} {test.subject.default!r}"


def _cases(key: Key, tests: Sequence[TestSpec]) -> list[Case]:
    """The values that the questions tell apart, the constants that stand in them first."""
    if key[0] == "present":
        places = ((True, "in the batch"), (False, "not in the batch"))
        return [Case((there,), f"{key[1]} {label}", label) for there, label in places]
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
            found.append(Case(answers, _case_words(name, value, constants), label, alike))
    return found


def _answers(tests: Sequence[TestSpec], value: object) -> tuple[bool, ...]:
    return tuple(passes(test, test.subject.default if value is ABSENT else value) for test in tests)


def _case_words(name: str, value: object, constants: Sequence[object]) -> str:
    if value is ABSENT or value is None:
        return f"{name} not set"
    if value == _OTHER:
        listed = " nor ".join(map(repr, constants))
        return f"{name} neither {listed}" if len(constants) > 1 else f"{name} not {listed}"
    return f"{name}={value!r}"


def _label(value: object) -> str:
    return "not set" if value is ABSENT or value is None else "anything else" if value == _OTHER else repr(value)


def _repeated(pattern: int, period: int, length: int) -> int:
    """A pattern of bits, over and over up to a length that is a multiple of its period."""
    filled = period
    while filled < length:
        pattern |= pattern << filled
        filled *= 2
    return pattern & ((1 << length) - 1)


def _wrong(actual: str, expected: str) -> DeclarationError:
    return DeclarationError(
        "in conditions", [Violation(code="BP051", field="always", actual=actual, expected=expected)]
    )
