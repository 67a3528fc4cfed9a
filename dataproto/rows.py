"""The index plan: which rows an operation takes, computed once and applied to every store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch

from batchpact.dataproto.refusal import refuse
from batchpact.schemas.describe import describe

Index: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
RowLike: TypeAlias = "slice | list[int] | list[bool] | np.ndarray | torch.Tensor"

T = TypeVar("T")


class Rows:
    """Rows of a batch: a slice where that is possible (no copy), else an int64 index.

    Attributes:
        slice: the rows as a slice with a positive step, or None.
        count: how many rows.
    """

    __slots__ = ("_index", "_made", "_tensors", "count", "slice")

    def __init__(self, *, index: Index | None = None, span: slice | None = None, length: int = 0) -> None:
        self.slice = span
        self._index = index
        self._tensors: dict[torch.device, torch.Tensor] = {}
        self._made: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = {}
        if index is not None:
            self.count = len(index)
        else:
            self.count = len(range(*span.indices(length))) if span is not None else 0

    @classmethod
    def span(cls, start: int, stop: int) -> Rows:
        """The rows from `start` up to, not including, `stop`."""
        return cls(span=slice(start, stop), length=stop)

    def index(self, length: int) -> Index:
        """The rows as an index into a batch of this length."""
        if self._index is None:
            self._index = np.arange(length, dtype=np.int64)[self.slice]
        return self._index

    def tensor(self, length: int, device: torch.device) -> torch.Tensor:
        """The index as a tensor on a device; made once for each device."""
        found = self._tensors.get(device)
        if found is None:
            found = self._tensors[device] = torch.from_numpy(self.index(length)).to(device)
        return found

    def of(self, column: np.ndarray) -> np.ndarray:
        """These rows of a column."""
        return column[self.slice] if self.slice is not None else column[self._index]

    def among(self, pieces: Sequence[T]) -> Sequence[T]:
        """These rows of a batch that is given row by row."""
        return (
            pieces[self.slice] if self.slice is not None else [pieces[row] for row in self.index(len(pieces)).tolist()]
        )

    def once(self, sources: tuple[object, ...], make: Callable[[], T]) -> T:
        """What these rows of these very objects are, made once: fields that share the objects share the result."""
        key = tuple(map(id, sources))
        if key not in self._made:
            self._made[key] = sources, make()  # the sources are kept, or another object could get the id of one
        found: T = self._made[key][1]
        return found


def plan_rows(operation: str, item: object, length: int) -> Rows:
    """The rows that an index means.

    Args:
        operation: the name of the operation, for errors.
        item: a slice, a list, a numpy array or a tensor; of integers (negative ones count from the end) or booleans.
        length: the number of rows in the batch.

    Raises:
        BatchError: if the index does not fit the batch.
    """
    if isinstance(item, slice):
        if item.step == 0:
            raise refuse(operation, "BP044", "index", "a slice with step 0", "a step of 1 or more, or of -1 or less")
        if item.step is None or item.step > 0:
            return Rows(span=item, length=length)
        return Rows(index=np.arange(*item.indices(length), dtype=np.int64))
    if isinstance(item, torch.Tensor):
        found = item.detach().cpu().numpy()
    elif isinstance(item, np.ndarray):
        found = item
    elif isinstance(item, (list, tuple)):
        found = _array_of(operation, item)
    else:
        raise refuse(
            operation, "BP044", "index", describe(item), "an int, a slice, a list, an array or a tensor of rows"
        )
    if found.ndim != 1:
        raise refuse(operation, "BP044", "index", f"an index of {found.ndim} axes", "an index has one axis: the rows")
    if found.dtype == bool:
        if len(found) != length:
            hint = "a mask has one boolean per row"
            raise refuse(operation, "BP044", "index", f"a mask of {len(found)}", f"the batch has {length} rows", hint)
        return Rows(index=np.flatnonzero(found).astype(np.int64, copy=False))
    if found.dtype.kind not in "iu":
        raise refuse(operation, "BP044", "index", f"an index of {found.dtype.name}", "rows are integers or booleans")
    index = found.astype(np.int64)
    outside = index[(index < -length) | (index >= length)]
    if len(outside):
        raise refuse(operation, "BP044", "index", f"row {outside[0]}", f"the batch has {length} rows")
    index[index < 0] += length
    return Rows(index=index)


def _array_of(operation: str, rows: Sequence[object]) -> np.ndarray:
    """A list of rows, or of one boolean per row, as an array; a mixture of both means neither."""
    booleans = sum(isinstance(row, (bool, np.bool_)) for row in rows)
    if booleans not in (0, len(rows)):
        raise refuse(operation, "BP044", "index", "booleans and numbers in one list", "rows are integers or booleans")
    try:
        return np.asarray(rows) if len(rows) else np.empty(0, dtype=np.int64)
    except ValueError:
        raise refuse(
            operation, "BP044", "index", "a list of unequal lists", "an index has one axis: the rows"
        ) from None


def repeat_each(operation: str, times: object, length: int) -> Rows:
    """Every row in a run as often as its own number says.

    Raises:
        BatchError: if there is not one whole number, 0 or more, for each row.
    """
    found = times.detach().cpu().numpy() if isinstance(times, torch.Tensor) else times
    if not isinstance(found, (np.ndarray, list, tuple)):
        raise refuse(operation, "BP044", "repeat_times", describe(times), "a list, an array or a tensor of numbers")
    expected = f"one number for each of {length} rows"
    try:
        numbers = np.asarray(found) if len(found) else np.empty(0, dtype=np.int64)
    except ValueError:
        raise refuse(operation, "BP044", "repeat_times", "numbers of different lengths", expected) from None
    if numbers.shape != (length,):
        actual = f"numbers of shape {list(numbers.shape)}"
        raise refuse(operation, "BP044", "repeat_times", actual, expected)
    if numbers.dtype.kind not in "iu" or (numbers < 0).any():
        actual = f"numbers of {numbers.dtype.name}" if numbers.dtype.kind not in "iu" else str(numbers.min())
        raise refuse(operation, "BP044", "repeat_times", actual, "whole numbers, 0 or more")
    return Rows(index=np.repeat(np.arange(length, dtype=np.int64), numbers))


def repeat_rows(length: int, times: int, *, interleave: bool) -> Rows:
    """Every row `times` times: each in a run (`interleave`), or the whole batch over and over."""
    rows = np.arange(length, dtype=np.int64)
    return Rows(index=np.repeat(rows, times) if interleave else np.tile(rows, times))
