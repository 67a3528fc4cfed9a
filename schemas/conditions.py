"""Conditions: when a field or a stage is there, as the configuration, the meta or the call says.

    use_critic = (config("algorithm.adv_estimator") == "gae").named("use_critic")

    class Reads(BatchSchema):
        values: Annotated[Float32[Tensor, "batch response"], When(use_critic)]
        ref_log_prob: Annotated[Float32[Tensor, "batch response"], When(config("algorithm.use_kl_in_reward"))]

A condition is built, never decided, by Python's operators: `&`, `|` and `~` combine, and `and`, `or`, `not` and `if`,
which would decide it on the spot, are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NoReturn

from pydantic import JsonValue, TypeAdapter, ValidationError

from batchpact.schemas.condition_specs import (
    ORDERS,
    AllSpec,
    AnySpec,
    ConditionSpec,
    NotSpec,
    Source,
    SubjectSpec,
    Test,
    TestSpec,
    holds,
    words,
)
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import DeclarationError
from batchpact.schemas.violations import Violation

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class Condition:
    """Something that holds, or does not, for a configuration, a batch and a call.

    Attributes:
        spec: the condition as data.
    """

    __slots__ = ("spec",)

    def __init__(self, spec: ConditionSpec) -> None:
        self.spec = spec

    def __and__(self, other: Condition) -> Condition:
        return Condition(AllSpec(of=(*_parts(self, AllSpec), *_parts(other, AllSpec))))

    def __or__(self, other: Condition) -> Condition:
        return Condition(AnySpec(of=(*_parts(self, AnySpec), *_parts(other, AnySpec))))

    def __rand__(self, other: object) -> NoReturn:
        raise _wrong(str(self), f"{describe(other)} & a condition", "put each comparison in parentheses")

    __ror__ = __rand__

    def __invert__(self) -> Condition:
        named = self.spec.name is not None
        return Condition(self.spec.of if isinstance(self.spec, NotSpec) and not named else NotSpec(of=self.spec))

    def named(self, name: str) -> Condition:
        """The same condition under a name, which messages and docs use."""
        return Condition(self.spec.model_copy(update={"name": name}))

    def holds(self, look_up: Callable[[SubjectSpec], object]) -> bool | None:
        """Whether it holds; None where that depends on what `look_up` does not know."""
        return holds(self.spec, look_up)

    def __bool__(self) -> NoReturn:
        text = "a condition is decided when a stage runs, not here"
        raise _wrong(
            str(self), text, "combine conditions with & | ~ instead of and, or, not; put == and < in parentheses"
        )

    def __eq__(self, other: object) -> bool | Condition:  # type: ignore[override]  # a subject's builds a condition
        return self.spec == other.spec if isinstance(other, Condition) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return words(self.spec)

    def __repr__(self) -> str:
        return f"<condition: {self}>"


class Subject(Condition):
    """What a condition looks at. By itself it means: is there, and is neither false, nor zero, nor empty."""

    __slots__ = ("subject",)

    def __init__(self, subject: SubjectSpec) -> None:
        super().__init__(TestSpec(subject=subject))
        self.subject = subject

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self._test("==", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return self._test("!=", value)

    def __lt__(self, value: float | str | Subject) -> Condition:
        return self._test("<", value)

    def __le__(self, value: float | str | Subject) -> Condition:
        return self._test("<=", value)

    def __gt__(self, value: float | str | Subject) -> Condition:
        return self._test(">", value)

    def __ge__(self, value: float | str | Subject) -> Condition:
        return self._test(">=", value)

    def isin(self, values: Sequence[JsonValue]) -> Condition:
        """It is one of these values."""
        if isinstance(values, str):
            raise _wrong(str(self.subject), f"isin({values!r}) would mean its letters", f"isin([{values!r}])")
        return self._test("isin", list(values))

    def is_none(self) -> Condition:
        """It is None, or not there."""
        return self._test("is_none", None)

    def _test(self, test: Test, value: object) -> Condition:
        if isinstance(value, Subject) and test in ORDERS:
            return Condition(TestSpec(subject=self.subject, test=test, than=value.subject))
        if isinstance(value, Condition):
            what = "it is compared with another condition"
            raise _wrong(str(self.subject), what, "it compares with a constant, and by < <= > >= with another subject")
        try:
            constant = _JSON.validate_python(value, strict=True)
        except ValidationError:
            raise _wrong(
                str(self.subject),
                f"it is compared with {describe(value)}",
                "a number, a text, None, or a list of these",
            ) from None
        if isinstance(constant, float) and not math.isfinite(constant):
            raise _wrong(str(self.subject), f"it is compared with {constant}", "a finite number")
        return Condition(TestSpec(subject=self.subject, test=test, value=constant))

    __hash__ = Condition.__hash__


def config(path: str, default: JsonValue = None) -> Subject:
    """The value at a dotted path of the configuration; one that is missing is `default`."""
    return _subject("config", path, default)


def meta(name: str, default: JsonValue = None) -> Subject:
    """A value in the meta of the batch."""
    return _subject("meta", name, default)


def arg(name: str, default: JsonValue = None) -> Subject:
    """An argument of the call."""
    return _subject("arg", name, default)


def present(name: str) -> Subject:
    """Whether a field is in the batch when the stage is called."""
    return _subject("present", name, None)


def step(name: str) -> Subject:
    """A number in the meta that grows while a run goes on; every value of it comes up in every run."""
    return _subject("step", name, None)


def _subject(source: Source, name: object, default: JsonValue) -> Subject:
    if not isinstance(name, str) or not name:
        raise _wrong(source, f"{source}({name!r})", f'the name of what is looked at, as in {source}("validate")')
    return Subject(SubjectSpec(source=source, name=name, default=default))


def _parts(condition: object, kind: type[AllSpec] | type[AnySpec]) -> tuple[ConditionSpec, ...]:
    """The parts of a condition of this kind, so that `a & b & c` is one list; named ones stay whole."""
    if not isinstance(condition, Condition):
        raise _wrong("condition", f"{describe(condition)} is no condition", "both sides of & and | are conditions")
    spec = condition.spec
    return spec.of if isinstance(spec, kind) and spec.name is None else (spec,)


def _wrong(field: str, actual: str, expected: str) -> DeclarationError:
    return DeclarationError("in a condition", [Violation(code="BP051", field=field, actual=actual, expected=expected)])
