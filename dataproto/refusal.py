"""Refusing an operation of the container: one violation, or several, in a `BatchError`."""

from __future__ import annotations

from batchpact.schemas.errors import BatchError
from batchpact.schemas.violations import Violation


def refuse(operation: str, code: str, field: str, actual: str, expected: str, hint: str = "") -> BatchError:
    """The error for an operation that is refused for one reason."""
    return refuse_all(operation, [Violation(code=code, field=field, actual=actual, expected=expected, hint=hint)])


def refuse_all(operation: str, violations: list[Violation]) -> BatchError:
    """The error for an operation that is refused for several reasons."""
    return BatchError(f"in DataProto.{operation}; nothing was changed", violations)
