"""Refusing an operation of the container: one violation, or several, in a `BatchError`."""

from __future__ import annotations

from batchpact.schemas.errors import BatchError, MissingFieldError
from batchpact.schemas.violations import Violation

FUNCTIONS = {
    "DataProtoConfig.auto_padding",
    "DataProtoFuture",
    "all_gather_data_proto",
    "collate_fn",
    "deserialize_single_tensor",
    "deserialize_tensordict",
    "fold_batch_dim",
    "pad_dataproto_to_divisor",
    "serialize_single_tensor",
    "serialize_tensordict",
    "size_report",
    "transport",
    "unfold_batch_dim",
    "union_numpy_dict",
    "union_tensor_dict",
    "unpad_dataproto",
    "unpicklable",
}
"""Operations that are no methods of `DataProto`; one with a dot in its name is none either."""


def refuse(operation: str, code: str, field: str, actual: str, expected: str, hint: str = "") -> BatchError:
    """The error for an operation that is refused for one reason."""
    return refuse_all(operation, [Violation(code=code, field=field, actual=actual, expected=expected, hint=hint)])


def refuse_all(operation: str, violations: list[Violation]) -> BatchError:
    """The error for an operation that is refused for several reasons."""
    return BatchError(_subject(operation), violations)


def refuse_names(operation: str, violations: list[Violation]) -> MissingFieldError:
    """The error for an operation that is refused because names are not there."""
    return MissingFieldError(_subject(operation), violations)


def _subject(operation: str) -> str:
    where = operation if operation in FUNCTIONS or "." in operation else f"DataProto.{operation}"
    return f"in {where}; nothing was changed"
