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
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

from batchpact.schemas.definitions import qualified_name
from batchpact.schemas.describe import describe
from batchpact.schemas.keys import Naming
from batchpact.schemas.record import RowRuleSpec
from batchpact.schemas.violations import Violation

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__batchpact_rule__"


def rule(method: F) -> F:
    """Make a method of a schema a rule.

    The method gets an instance with the fields as attributes (None, or the default, for an optional field that is not
    there) and returns one boolean per row: a tensor or an array of shape `[batch]`. Its docstring says what must hold.
    """
    setattr(method, _MARK, True)
    return method


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
    try:
        answer = method(instance)
    except Exception as error:  # a rule is a user's code: what it raises is reported with the rule's name
        return _violation(spec, f"the rule raised {type(error).__name__}: {error}")
    bools = isinstance(answer, np.ndarray) and answer.dtype == np.bool_
    holds = torch.from_numpy(np.array(answer)) if bools else answer
    if not isinstance(holds, torch.Tensor) or holds.dtype is not torch.bool or holds.shape != (rows,):
        return _violation(spec, f"the rule returned {describe(answer)}, where bool[{rows}] belongs")
    broken = (~holds).nonzero().flatten().tolist()
    return _violation(spec, f"it does not hold in {named(broken)}") if broken else None


def _violation(spec: RowRuleSpec, actual: str) -> Violation:
    return Violation(code="BP022", field=spec.name, actual=actual, expected=spec.description or spec.qualname)
