"""Where the rows of a result come from, and whether that is what the stage declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch

from batchpact.contracts.configuration import config_value
from batchpact.dataproto.rows import Index
from batchpact.schemas.record import RowsSpec
from batchpact.schemas.violations import Violation

R = TypeVar("R")

_STATE = "index or reorder the batch that was handed in, or return from_rows(result, origin)"


@dataclass(frozen=True, slots=True)
class FromRows(Generic[R]):
    """A result with the input row of each of its rows."""

    result: R
    origin: Index


def from_rows(result: R, origin: Sequence[int] | np.ndarray | torch.Tensor) -> FromRows[R]:
    """Say which input row each row of a hand-made result comes from.

    A batch that was made by indexing, reordering or repeating the given `DataProto` knows its rows; a `Writes` and
    other containers do not, so a stage with `rows` other than `"same"` or `"new"` returns them with this.

    Args:
        result: the result of the stage.
        origin: for each row of the result, the number of the input row, `[rows of the result]`.
    """
    rows = origin.detach().cpu().numpy() if isinstance(origin, torch.Tensor) else np.asarray(origin)
    return FromRows(result, rows.astype(np.int64).reshape(-1))


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
        moved = (
            "other rows"
            if len(origin) != length
            else f"row {int(np.flatnonzero(origin != np.arange(length))[0])} is another"
        )
        return _origin(
            f"the result has {moved} than the input", "declared rows = 'same'", "declare 'permute' or 'select'"
        )
    declared = f"declared rows = '{spec}'"
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
        return _origin(
            f"{len(lost)} input rows are missing in the result, the first is row {lost[0] if len(lost) else 0}",
            declared,
            "",
        )
    if spec.kind == "repeat" and length:
        expected = spec.times if isinstance(spec.times, int) else config_value(str(spec.times))
        wanted = expected if isinstance(expected, int) else int(times[0])
        uneven = np.flatnonzero(times != wanted)
        if len(uneven):
            row = int(uneven[0])
            return _origin(f"input row {row} is there {times[row]} times, not {wanted} times", declared, "")
    return None


def _origin(actual: str, expected: str, hint: str) -> Violation:
    return Violation(code="BP034", field="batch", actual=actual, expected=expected, hint=hint)
