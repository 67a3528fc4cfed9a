"""Every configuration that conditions can tell apart: a finite space, in which a condition is a set of points.

A subject such as `algorithm.adv_estimator` has as many cases as the questions asked about it can tell apart. Keys of a
configuration that are asked about under one name (`use_critic`) are a part: of their combinations those are one that
answer all questions alike. A point of the space is one class of combinations for each part; a set of points is an
integer with a bit for each point, so that implications over thousands of points are single operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import combinations, product
from typing import TypeAlias, TypeVar

from batchpact.contracts.proof.cases import Case, Key, about, cases_of, key_of, question
from batchpact.contracts.proof.parts import Part, joined
from batchpact.schemas.condition_specs import (
    UNKNOWN,
    AllSpec,
    AnySpec,
    ConditionSpec,
    NotSpec,
    SubjectSpec,
    TestSpec,
    passes,
    questions_in,
    subjects_in,
    subjects_of,
)
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.text import quoted
from batchpact.schemas.violations import Violation

K = TypeVar("K")

LARGEST = 1 << 20
"""Points of a space; beyond it a pipeline asks too many independent questions at once."""

Region: TypeAlias = Mapping[int, int]
"""Configurations in which some parts of the space are fixed: the number of each of these, and that of its class."""

_EXACT = 3
"""Up to how many fixed keys the smallest configuration is searched for; beyond, keys are taken away one by one."""


class Space:
    """The space of some conditions.

    Args:
        conditions: every condition that will be asked about.
        always: conditions that hold in every configuration that anybody runs.

    Attributes:
        parts: the keys, in parts.
        points: how many points there are.
        everything: all of them, as a set.
        valid: those in which `always` holds.

    Raises:
        DeclarationError: if the conditions span too many points, or no point satisfies `always`.
    """

    def __init__(self, conditions: Iterable[ConditionSpec], always: Iterable[ConditionSpec] = ()) -> None:
        always = list(always)
        asked: dict[str, ConditionSpec] = {}
        tests: dict[Key, dict[str, TestSpec]] = {}
        for condition in (*conditions, *always):
            for whole in _wholes_in(condition):
                asked.setdefault(_text(whole), whole)
            for test in questions_in(condition):
                tests.setdefault(key_of(test), {}).setdefault(question(test), test)
        self._tests = {key: list(found.values()) for key, found in tests.items()}
        self._places = {key: {text: at for at, text in enumerate(found)} for key, found in tests.items()}
        self._cases: dict[Key, list[Case]] = {key: cases_of(key, found) for key, found in self._tests.items()}
        self.parts = self._parted(asked)
        self._sets: dict[tuple[int, int], int] = {}
        self.points = 1
        for part in self.parts:
            self.points *= part.classes
        if self.points > LARGEST:
            names = quoted(name for _, name in tests)
            text = f"{self.points} configurations of {names}"
            raise _wrong(text, f"at most {LARGEST}; state what cannot be together, or check parts of the pipeline")
        self.everything = (1 << self.points) - 1
        stride = 1
        for number, part in enumerate(self.parts):
            for at in range(part.classes):
                pattern = ((1 << stride) - 1) << (at * stride)
                self._sets[number, at] = _repeated(pattern, stride * part.classes, self.points)
            stride *= part.classes
        self._known = {
            text: self._union(number, part.answering(text))
            for number, part in enumerate(self.parts)
            for text in part.asked
        }
        self._seen: dict[int, tuple[ConditionSpec, int | None]] = {}  # by identity; it keeps them alive
        self._regions: dict[tuple[int, tuple[tuple[Key, int], ...]], int] = {}
        self.valid = self.everything
        for condition in always:
            self.valid &= self.points_of(condition)
        if not self.valid:
            raise _wrong("no configuration satisfies all of them", "constraints that can hold together")

    def _parted(self, asked: Mapping[str, ConditionSpec]) -> list[Part]:
        """The keys in parts, each with what is asked of it."""
        keys_of = {text: {key_of(test) for test in questions_in(whole)} for text, whole in asked.items()}
        found = []
        for keys in joined(self._cases, keys_of.values()):
            own = {text: asked[text] for text, about in keys_of.items() if about <= set(keys)}
            found.append(Part({key: len(self._cases[key]) for key in keys}, own, self._holds))
        return found

    def _holds(self, condition: ConditionSpec, combination: Mapping[Key, int]) -> bool:
        """Whether a condition holds, where each key has one of its cases."""
        if isinstance(condition, TestSpec):
            key = key_of(condition)
            return self._cases[key][combination[key]].answers[self._places[key][question(condition)]]
        if isinstance(condition, NotSpec):
            return not self._holds(condition.of, combination)
        answers = (self._holds(part, combination) for part in condition.of)
        return all(answers) if isinstance(condition, AllSpec) else any(answers)

    def points_of(self, condition: ConditionSpec | None, where: Callable[[str], tuple[int, int]] | None = None) -> int:
        """Where a condition holds; everywhere for None.

        Args:
            condition: what is asked.
            where: tells of a field where it is there for certain and where it may be, which is as free as a key.
        """
        if condition is None:
            return self.everything
        known = self._points_as_a_whole(condition)
        if known is not None:
            if where is None or not isinstance(condition, TestSpec) or condition.subject.source != "present":
                return known
            certain, maybe = where(condition.subject.name)
            return certain | (maybe & known)
        if isinstance(condition, NotSpec):
            return self.everything & ~self.points_of(condition.of, where)
        parts = [self.points_of(part, where) for part in _parts_of(condition)]
        found = self.everything if isinstance(condition, AllSpec) else 0
        for part in parts:
            found = found & part if isinstance(condition, AllSpec) else found | part
        return found

    def _points_as_a_whole(self, condition: ConditionSpec) -> int | None:
        """Where a condition holds that is asked as one thing; None where its parts are asked."""
        seen = self._seen.get(id(condition))
        if seen is None:
            whole = isinstance(condition, TestSpec) or _is_whole(condition)
            seen = self._seen[id(condition)] = condition, self._known[_text(condition)] if whole else None
        return seen[1]

    def where(self, look_up: Callable[[SubjectSpec], object]) -> int:
        """The points of one configuration: subjects that `look_up` does not know stay open."""
        found = self.everything
        for number, part in enumerate(self.parts):
            allowed = {key: fitting for key in part.keys if (fitting := self._fitting(key, look_up)) is not None}
            found &= self._union(number, part.classes_where(allowed))
        return found

    def _fitting(self, key: Key, look_up: Callable[[SubjectSpec], object]) -> list[int] | None:
        """The case of a subject that has its value, if any has; None where the value is not known."""
        answers = []
        for test in self._tests[key]:
            values = [look_up(subject) for subject in subjects_of(test)]
            if any(value is UNKNOWN for value in values):
                return None
            answers.append(passes(test, *values))
        return [at for at, case in enumerate(self._cases[key]) if list(case.answers) == answers]

    def smallest(self, points: int, among: int) -> str:
        """In words, a configuration with the fewest fixed keys that lies within a set; empty where all of them do.

        Args:
            points: the set.
            among: the configurations that there are.
        """
        if among & ~points == 0:
            return ""
        [fixed], _ = self.configurations(points, among, 1)
        return ", ".join(self._cases[key][case].text for key, case in fixed.items())

    def configurations(self, points: int, among: int, most: int) -> tuple[list[Mapping[Key, int]], bool]:
        """A set as configurations with few fixed keys, the one with the fewest first.

        Args:
            points: the set.
            among: the configurations that there are.
            most: how many are wanted at most.

        Returns:
            The cases of keys in each, which together are the set or, where they would be too many, a part of it; and
            whether they are the whole.
        """
        open_cases = self._open(among)
        choices = {key: range(len(self._cases[key])) for key in self._cases if len(open_cases[key]) > 1}
        return _covered(choices, self._region, self._one_of, (points, among), most)

    def regions(self, points: int, among: int, most: int) -> tuple[list[Region], bool]:
        """A set as regions with few fixed parts, the one with the fewest first.

        Args:
            points: the set.
            among: the configurations that there are.
            most: how many regions are wanted at most.

        Returns:
            The regions, which together are the set or, where they would be too many, a part of it; and whether they
            are the whole.
        """
        choices = {number: range(part.classes) for number, part in enumerate(self.parts)}
        return _covered(choices, self._classes, self._classes_of, (points, among), most)

    def keys(self) -> dict[Key, list[Case]]:
        """What conditions ask about, and the cases of each."""
        return dict(self._cases)

    def named(self) -> dict[str, list[Case]]:
        """The cases of each key, by what it is called; in the order of the keys."""
        return {about(self._tests[key][0]): cases for key, cases in self._cases.items()}

    def passing(self, test: TestSpec) -> list[int]:
        """The cases of its key that pass a test."""
        key = key_of(test)
        at = self._places[key][question(test)]
        return [number for number, case in enumerate(self._cases[key]) if case.answers[at]]

    def _open(self, among: int) -> dict[Key, set[int]]:
        """The cases that each key has in a set."""
        found: dict[Key, set[int]] = {}
        for number, part in enumerate(self.parts):
            alive = {at for at in range(part.classes) if self._sets[number, at] & among}
            found.update(part.cases_in(alive))
        return found

    def _region(self, fixed: Mapping[Key, int], among: int) -> int:
        """The points of a set in which keys have these cases."""
        for number, part in enumerate(self.parts):
            own = tuple((key, fixed[key]) for key in part.keys if key in fixed)
            if own:
                if (number, own) not in self._regions:
                    classes = part.classes_where({key: (case,) for key, case in own})
                    self._regions[number, own] = self._union(number, classes)
                among &= self._regions[number, own]
        return among

    def _classes(self, fixed: Mapping[int, int], among: int) -> int:
        """The points of a set in which parts are of these classes."""
        for number, at in fixed.items():
            among &= self._sets[number, at]
        return among

    def _classes_of(self, points: int) -> dict[int, int]:
        """The classes of all parts at the first point of a set."""
        point = (points & -points).bit_length() - 1
        found = {}
        for number, part in enumerate(self.parts):
            found[number] = point % part.classes
            point //= part.classes
        return found

    def _one_of(self, points: int) -> dict[Key, int]:
        """All keys of the first point of a set."""
        found: dict[Key, int] = {}
        for number, at in self._classes_of(points).items():
            found.update(self.parts[number].combination_of(at))
        return {key: found[key] for key in self._cases}

    def _union(self, part: int, classes: Iterable[int]) -> int:
        found = 0
        for at in classes:
            found |= self._sets[part, at]
        return found


def _covered(
    choices: Mapping[K, Collection[int]],
    region_of: Callable[[Mapping[K, int], int], int],
    one_of: Callable[[int], dict[K, int]],
    within: tuple[int, int],
    most: int,
) -> tuple[list[Mapping[K, int]], bool]:
    """A set among others as choices with few fixed keys, until it is covered or there are as many as are wanted."""
    points, among = within
    left = points & among
    found: list[Mapping[K, int]] = []
    while left and len(found) < most:
        wanted = left

        def fits(fixed: Mapping[K, int], wanted: int = wanted) -> bool:
            region = region_of(fixed, among)
            return bool(region & wanted) and not region & ~points

        fixed = _fewest(choices, fits, one_of(left))
        found.append(fixed)
        left &= ~region_of(fixed, among)
    return found, not left


def _fewest(
    choices: Mapping[K, Collection[int]], fits: Callable[[dict[K, int]], bool], one: dict[K, int]
) -> dict[K, int]:
    """A choice with the fewest fixed keys that fits; from `one`, which does, where that takes too long to find."""
    for size in range(min(_EXACT, len(choices)) + 1):
        for chosen in combinations(choices, size):
            for cases in product(*(choices[key] for key in chosen)):
                if fits(fixed := dict(zip(chosen, cases, strict=True))):
                    return fixed
    for key in choices:
        fewer = {other: case for other, case in one.items() if other != key}
        if fits(fewer):
            one = fewer
    return one


def _wholes_in(condition: ConditionSpec) -> Iterator[ConditionSpec]:
    """What is asked as one thing: the outermost conditions that are a whole, and the questions outside of them."""
    if isinstance(condition, TestSpec) or _is_whole(condition):
        yield condition
        return
    for part in _parts_of(condition):
        yield from _wholes_in(part)


def _parts_of(condition: ConditionSpec) -> tuple[ConditionSpec, ...]:
    """What a condition is made of; a question has no parts."""
    if isinstance(condition, TestSpec):
        return ()
    return (condition.of,) if isinstance(condition, NotSpec) else condition.of


def _is_whole(condition: ConditionSpec) -> bool:
    """Whether it has a name and asks nothing but the configuration, so that no stage can make it another one."""
    return condition.name is not None and all(subject.source == "config" for subject in subjects_in(condition))


def _text(condition: ConditionSpec) -> str:
    """What a condition asks, without names: two that have the same text are one."""
    if isinstance(condition, TestSpec):
        return f"{key_of(condition)} {question(condition)}"
    if isinstance(condition, NotSpec):
        return f"not({_text(condition.of)})"
    word = "any" if isinstance(condition, AnySpec) else "all"
    return f"{word}({', '.join(map(_text, condition.of))})"


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
