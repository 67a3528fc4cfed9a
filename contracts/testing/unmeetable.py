"""What is said where no batch keeps to a schema, or to what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.schemas.errors import ContractError
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.violations import Violation


class SampleError(ContractError):
    """No sample can be made: the message names the fields, rules or overrides that are in each other's way."""


class Unmeetable(Exception):
    """The words for what no value is; whoever knows the field makes a violation of it."""


def unmeetable(field: str, actual: str, expected: str = "", hint: str = "") -> Violation:
    """Something that cannot be sampled."""
    return Violation(code="BP057", field=field, actual=actual, expected=expected, hint=hint)


def refusal(
    schema: str, fields: Sequence[FieldSpec], error: Unmeetable, expected: str = "a value to draw"
) -> SampleError:
    """The error for fields of a schema, twins of one another, that no value fits."""
    names = ", ".join(field.key for field in fields)
    return SampleError(f"where {schema} is sampled", [unmeetable(names, str(error), expected)])
