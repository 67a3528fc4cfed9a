"""Conditions as data: what they ask, whether they hold, and how they read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Source: TypeAlias = Literal["config", "meta", "arg", "present", "step"]
Test: TypeAlias = Literal["truthy", "is_none", "isin", "==", "!=", "<", "<=", ">", ">="]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SubjectSpec(_Spec):
    """What a condition looks at: a key of the configuration, of meta, an argument, a field that may be there."""

    source: Source
    name: str
    default: JsonValue = None

    def __str__(self) -> str:
        if self.source == "present":
            return f"{self.name} in the batch"
        return self.name if self.source in ("config", "step") else f"{self.source} {self.name}"


class TestSpec(_Spec):
    """One question about a subject, or about the order of two: then `than` is the other, in the place of `value`."""

    kind: Literal["test"] = "test"
    subject: SubjectSpec
    test: Test = "truthy"
    value: JsonValue = None
    than: SubjectSpec | None = None
    name: str | None = None

    __test__ = False  # no test of pytest's


class AllSpec(_Spec):
    """Every one of these holds."""

    kind: Literal["all"] = "all"
    of: tuple[ConditionSpec, ...]
    name: str | None = None


class AnySpec(_Spec):
    """At least one of these holds."""

    kind: Literal["any"] = "any"
    of: tuple[ConditionSpec, ...]
    name: str | None = None


class NotSpec(_Spec):
    """This does not hold."""

    kind: Literal["not"] = "not"
    of: ConditionSpec
    name: str | None = None


ConditionSpec: TypeAlias = Annotated[TestSpec | AllSpec | AnySpec | NotSpec, Field(discriminator="kind")]
"""A condition as data: a test of one subject, or several conditions taken together."""
for _model in (AllSpec, AnySpec, NotSpec):
    _model.model_rebuild()


class Unknown:
    """Stands for a value that nobody can tell here."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


def holds(condition: ConditionSpec, look_up: Callable[[SubjectSpec], object]) -> bool | None:
    """Whether a condition holds; None where that depends on what is not known.

    Args:
        condition: what is asked.
        look_up: the value of a subject, its default where there is none, or `UNKNOWN`.
    """
    if isinstance(condition, TestSpec):
        values = [look_up(subject) for subject in subjects_of(condition)]
        return None if any(isinstance(value, Unknown) for value in values) else passes(condition, *values)
    if isinstance(condition, NotSpec):
        inner = holds(condition.of, look_up)
        return None if inner is None else not inner
    deciding = isinstance(condition, AnySpec)
    answers = [holds(part, look_up) for part in condition.of]
    if deciding in answers:
        return deciding
    return None if None in answers else not deciding


def passes(test: TestSpec, value: object, than: object = None) -> bool:
    """Whether a value passes a test. True is not 1; what has no order is neither smaller nor larger.

    Args:
        test: the question.
        value: the value of its subject.
        than: the value of the other subject, where it asks about the order of two.
    """
    value = value.value if isinstance(value, Enum) else value
    if test.test == "truthy":
        return bool(value)
    if test.test == "is_none":
        return value is None
    if test.test == "isin":
        return isinstance(test.value, list) and any(_same(value, known) for known in test.value)
    if test.test in ("==", "!="):
        return _same(value, test.value) == (test.test == "==")
    bound = test.value if test.than is None else than
    ordered = (_is_number(value) and _is_number(bound)) or (isinstance(value, str) and isinstance(bound, str))
    return ordered and bool(ORDERS[test.test](value, bound))


ORDERS: dict[str, Callable[[Any, Any], object]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def questions_in(condition: ConditionSpec) -> Iterator[TestSpec]:
    """Every question in a condition."""
    if isinstance(condition, TestSpec):
        yield condition
    elif isinstance(condition, NotSpec):
        yield from questions_in(condition.of)
    else:
        for part in condition.of:
            yield from questions_in(part)


def subjects_of(test: TestSpec) -> tuple[SubjectSpec, ...]:
    """What a question looks at: one subject, or two."""
    return (test.subject,) if test.than is None else (test.subject, test.than)


def subjects_in(condition: ConditionSpec) -> Iterator[SubjectSpec]:
    """Everything that a condition looks at."""
    return (subject for test in questions_in(condition) for subject in subjects_of(test))


def with_subjects(condition: ConditionSpec, change: Callable[[SubjectSpec], SubjectSpec]) -> ConditionSpec:
    """The same condition about other subjects."""
    if isinstance(condition, TestSpec):
        than = None if condition.than is None else change(condition.than)
        return condition.model_copy(update={"subject": change(condition.subject), "than": than})
    if isinstance(condition, NotSpec):
        return condition.model_copy(update={"of": with_subjects(condition.of, change)})
    return condition.model_copy(update={"of": tuple(with_subjects(part, change) for part in condition.of)})


def names_in(condition: ConditionSpec) -> dict[str, ConditionSpec]:
    """The conditions that `words` says by their names alone: those with a name inside of this one, at any depth."""
    found: dict[str, ConditionSpec] = {}
    if not isinstance(condition, TestSpec):
        for part in (condition.of,) if isinstance(condition, NotSpec) else condition.of:
            if part.name is not None:
                found.setdefault(part.name, part)
            for name, inner in names_in(part).items():
                found.setdefault(name, inner)
    return found


def words(condition: ConditionSpec) -> str:
    """A condition as a person reads it: `algorithm.adv_estimator == 'gae' and not trainer.val_only`."""
    text = meaning(condition)
    return text if condition.name is None else f"{condition.name} ({text})"


def meaning(condition: ConditionSpec) -> str:
    """A condition as a person reads it, without its own name."""
    if isinstance(condition, TestSpec):
        subject = str(condition.subject)
        if condition.test == "truthy":
            return subject
        if condition.test == "is_none":
            return f"{subject} is None"
        word = "in" if condition.test == "isin" else condition.test
        return f"{subject} {word} {repr(condition.value) if condition.than is None else condition.than}"
    if isinstance(condition, NotSpec):
        inner = _grouped(condition.of)
        return f"not {inner}"
    return (" and " if isinstance(condition, AllSpec) else " or ").join(_grouped(part) for part in condition.of)


def _grouped(condition: ConditionSpec) -> str:
    if condition.name is not None:
        return condition.name
    text = meaning(condition)
    return f"({text})" if isinstance(condition, (AllSpec, AnySpec)) else text


def _same(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(right, list) and not isinstance(left, (str, bytes)):
        try:
            return list(left) == right  # type: ignore[call-overload, no-any-return]  # OmegaConf's lists are their own
        except TypeError:
            return False
    return bool(left == right)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
