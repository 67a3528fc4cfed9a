"""The rules of a field, put on the Python type of a value that stands alone, for pydantic to check."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from batchpact.schemas.record import RuleSpec

BOUNDS = {"ge": Ge, "gt": Gt, "le": Le, "lt": Lt}
"""The bounds that are checked, by the name that they have in the record."""


def bounded(live: object, rules: Iterable[RuleSpec]) -> object:
    """The type with the rules of its field."""
    for rule in rules:
        bound = BOUNDS.get(rule.kind)
        limit = AfterValidator(_ALONE[rule.kind]) if bound is None else bound(rule.value)
        live = Annotated[live, limit]
    return live


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("finite", "Input should be a finite number")
    return value


def _binary(value: object) -> object:
    if value not in (0, 1):
        raise PydanticCustomError("binary", "Input should be 0 or 1")
    return value


_ALONE = {"finite": _finite, "binary": _binary}
"""The rules of a tensor, for a value that stands alone."""
