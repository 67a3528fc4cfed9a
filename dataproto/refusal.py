"""Refusing an operation of the container: one violation, or several, in a `BatchError`."""

from __future__ import annotations

from batchpact.schemas.errors import BatchError
from batchpact.schemas.violations import Violation

FUNCTIONS = {
    "DataProtoConfig.auto_padding",
    "collate_fn",
    "fold_batch_dim",
    "pad_dataproto_to_divisor",
    "unfold_batch_dim",
    "union_numpy_dict",
    "union_tensor_dict",
    "unpad_dataproto",
}
"""Operations that are no methods of `DataProto`."""


def refuse(operation: str, code: str, field: str, actual: str, expected: str, hint: str = "") -> BatchError:
    """The error for an operation that is refused for one reason."""
    return refuse_all(operation, [Violation(code=code, field=field, actual=actual, expected=expected, hint=hint)])


def refuse_all(operation: str, violations: list[Violation]) -> BatchError:
    """The error for an operation that is refused for several reasons."""
    where = operation if operation in FUNCTIONS else f"DataProto.{operation}"
    return BatchError(f"in {where}; nothing was changed", violations)
