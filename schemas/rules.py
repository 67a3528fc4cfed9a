"""Rules over several fields: methods of a schema that say, row by row, what must hold.

    class Writes(BatchSchema):
        attention_mask: AttentionMask
        response_mask: ResponseMask

        @rule
        def tail_agrees(self) -> Tensor:
            "the tail of attention_mask is response_mask"
            length = self.response_mask.shape[1]
            return (self.attention_mask[:, -length:] == self.response_mask).all(dim=1)

A rule reads values, so it runs at level `values` and when a schema is bound, once every field by itself is healthy.

A rule is any code, so nobody can tell from it what keeps to it. It may say so itself, for samples
(`batchpact.contracts.testing`): a maker for each field that can be made to fit the others.

        @rule(make={"response_mask": lambda self: self.attention_mask[:, -self.response_mask.shape[1] :]})
        def tail_agrees(self) -> Tensor: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
import torch

from batchpact.schemas.definitions import qualified_name
from batchpact.schemas.describe import describe
from batchpact.schemas.keys import Naming
from batchpact.schemas.record import RowRuleSpec
from batchpact.schemas.violations import Violation

F = TypeVar("F", bound=Callable[..., Any])
Makers: TypeAlias = "Mapping[str, Callable[[Any], object]]"
"""By the name of a field, what makes a value of it that fits the other fields of an instance."""

_MARK = "__batchpact_rule__"
_NO_MAKERS: Makers = MappingProxyType({})


@overload
def rule(method: F, /) -> F: ...
@overload
def rule(*, make: Makers) -> Callable[[F], F]: ...
def rule(method: F | None = None, /, *, make: Makers = _NO_MAKERS) -> F | Callable[[F], F]:
    """Make a method of a schema a rule.

    The method gets an instance with the fields as attributes (None, or the default, for an optional field that is not
    there) and returns one boolean per row: a tensor or an array of shape `[batch]`. Its docstring says what must hold.

    Args:
        method: the method.
        make: how a sample is made to keep to the rule: by the name of a field, a function that takes the instance and
            returns the field's new value. They are asked in their order, fields that are not there or are given by
            whoever samples left out, until the rule holds.
    """

    def mark(method: F) -> F:
        setattr(method, _MARK, make)
        return method

    return mark if method is None else mark(method)


def makers_of(method: Callable[[Any], object]) -> Makers:
    """What a rule says of how samples are made to keep to it."""
    makers: Makers = getattr(method, _MARK)
    return makers


def rules_of(cls: type) -> dict[str, Callable[[Any], object]]:
    """The rules of a schema class and of its bases, by name, in the order of their definition."""
    found: dict[str, Callable[[Any], object]] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if inspect.isfunction(value) and hasattr(value, _MARK):
                found[name] = value
            else:  # overridden by something that is no rule
                found.pop(name, None)
    return found


def rule_spec(name: str, method: Callable[[Any], object]) -> RowRuleSpec:
    """The record of a rule: its name, its qualified name, and what must hold."""
    description = " ".join((inspect.getdoc(method) or "").split())
    return RowRuleSpec(name=name, qualname=qualified_name(method), description=description)


def broken_rule(
    spec: RowRuleSpec, method: Callable[[Any], object], instance: object, rows: int, named: Naming
) -> Violation | None:
    """Ask a rule about a batch; a rule that fails or answers with something else is broken, too."""
    broken = broken_rows(method, instance, rows)
    if isinstance(broken, str):
        return _violation(spec, broken)
    return _violation(spec, f"it does not hold in {named(broken)}") if broken else None


def broken_rows(method: Callable[[Any], object], instance: object, rows: int) -> list[int] | str:
    """The rows in which a rule does not hold; in words what is wrong where it does not answer by rows."""
    try:
        answer = method(instance)
    except Exception as error:  # a rule is a user's code: what it raises is reported with the rule's name
        return f"the rule raised {type(error).__name__}: {error}"
    bools = isinstance(answer, np.ndarray) and answer.dtype == np.bool_
    holds = torch.from_numpy(np.array(answer)) if bools else answer
    if not isinstance(holds, torch.Tensor) or holds.dtype is not torch.bool or holds.shape != (rows,):
        return f"the rule returned {describe(answer)}, where bool[{rows}] belongs"
    broken: list[int] = (~holds).nonzero().flatten().tolist()
    return broken


def _violation(spec: RowRuleSpec, actual: str) -> Violation:
    return Violation(code="BP022", field=spec.name, actual=actual, expected=spec.description or spec.qualname)
