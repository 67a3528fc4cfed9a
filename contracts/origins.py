"""Where the rows of a result come from, and whether that is what the stage declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np
import torch

from batchpact.contracts.configuration import config_value
from batchpact.dataproto.row_marks import Mask
from batchpact.dataproto.rows import Index
from batchpact.schemas.errors import ContractError
from batchpact.schemas.record import RowsSpec
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation

R = TypeVar("R")

_STATE = "return from_rows(result, origin), or index or reorder the DataProto that was handed in"


@dataclass(frozen=True, slots=True)
class FromRows(Generic[R]):
    """A result with the input row of each of its rows."""

    result: R
    origin: Index


def from_rows(result: R, origin: Sequence[int] | np.ndarray | torch.Tensor) -> R:
    """Say which input row each row of a hand-made result comes from.

    A batch that was made by indexing, reordering or repeating the given `DataProto` knows its rows; a `Writes` and
    other containers do not, so a stage with `rows` other than `"same"` or `"new"` returns them with this.

    Args:
        result: the result of the stage.
        origin: for each row of the result, the number of the input row, `[rows of the result]`.

    Returns:
        The result with its origin, to be returned at once: type checkers see the result, the boundary takes it apart.

    Raises:
        ContractError: if the origin holds anything but whole numbers.
    """
    rows = origin.detach().cpu().numpy() if isinstance(origin, torch.Tensor) else np.asarray(origin)
    if rows.size and rows.dtype.kind not in "iu":  # a mask would be taken for rows 0 and 1
        hint = "a mask gives them by mask.nonzero()" if rows.dtype.kind == "b" else ""
        violation = _origin(f"an origin of {rows.dtype}", "the numbers of input rows are integers", hint)
        raise ContractError("in from_rows", [violation])
    return cast(R, FromRows(result, rows.astype(np.int64).reshape(-1)))


def check_origin(spec: RowsSpec, origin: Index | None, length: int, result_rows: int | None) -> Violation | None:
    """Compare the origin of a result's rows with what the stage declares about its rows.

    Args:
        spec: the declaration.
        origin: the input row of each result row, or None where nothing is known.
        length: the rows of the input.
        result_rows: the rows of the result, or None where it has no tensor and no column.
    """
    if spec.kind == "new":
        return None
    if spec.kind == "same":
        if origin is None or (len(origin) == length and np.array_equal(origin, np.arange(length))):
            return None
        if len(origin) != length:
            moved = _lengths(origin, length)
        else:
            row = int(np.flatnonzero(origin != np.arange(length))[0])
            moved = f"row {row} of the result is row {origin[row]} of the input"
        return _origin(moved, "declared rows = 'same'", "declare what the stage does: 'permute', 'select', Repeat(n)")
    declared = f"declared rows = {f'Repeat({spec.times!r})' if spec.kind == 'repeat' else repr(spec.kind)}"
    if origin is None:
        return _origin("nothing says which input rows the result has", declared, _STATE)
    if result_rows is not None and len(origin) != result_rows:
        return _origin(f"an origin for {len(origin)} rows and a result of {result_rows}", declared, _STATE)
    if len(origin) and (origin.min() < 0 or origin.max() >= length):
        wrong = origin.min() if origin.min() < 0 else origin.max()
        return _origin(f"an origin in row {wrong}, and the input has {length} rows", declared, "")
    times = np.bincount(origin, minlength=length)
    if spec.kind == "permute" and (len(origin) != length or times.max(initial=0) > 1):
        lost = np.flatnonzero(times == 0)
        if not len(lost):
            return _origin(_lengths(origin, length), declared, "")
        return _origin(f"the result lacks {count(len(lost), 'row')} of the input, first row {lost[0]}", declared, "")
    if spec.kind == "repeat" and length:
        expected = spec.times if isinstance(spec.times, int) else config_value(str(spec.times))
        wanted = expected if isinstance(expected, int) else int(times[0])
        uneven = np.flatnonzero(times != wanted)
        if len(uneven):
            row = int(uneven[0])
            return _origin(f"row {row} of the input is there {times[row]} times, not {wanted} times", declared, "")
    return None


def fits(origin: Index | None, length: int, result_rows: int | None) -> bool:
    """Whether the rows that an origin names can be taken and joined with a result; where there is none, nothing is."""
    if origin is None:
        return True
    inside = not len(origin) or (origin.min() >= 0 and origin.max() < length)
    return inside and (result_rows is None or len(origin) == result_rows)


def taken_marks(spec: RowsSpec, origin: Index | None, marks: Mask, result_rows: int | None) -> Mask | None:
    """The marks of the input's rows that the rows of a result have; None where nothing is known of these."""
    if spec.kind == "new" or origin is None or not fits(origin, len(marks), result_rows):
        return None
    return marks[origin]


def _lengths(origin: Index, length: int) -> str:
    return f"the result has {count(len(origin), 'row')} and the input has {length}"


def _origin(actual: str, expected: str, hint: str) -> Violation:
    return Violation(code="BP034", field="batch", actual=actual, expected=expected, hint=hint)
