"""Equality of whatever a batch holds: structural, NaN equals NaN, safe with cycles, and it says where things differ."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas import jagged
from batchpact.schemas.axes import is_jagged, ragged_axis
from batchpact.schemas.describe import describe
from batchpact.schemas.text import count


class Tolerance(NamedTuple):
    """By how much numbers may deviate and still count as equal: relative to the larger one, or absolutely."""

    rtol: float = 0.0
    atol: float = 0.0


EXACT = Tolerance()


def difference(left: object, right: object, path: str = "", *, rtol: float = 0.0, atol: float = 0.0) -> str | None:
    """The first difference between two values, in words with its path; None where they are equal.

    Containers are compared by kind and content, arrays and tensors inside them too. An object that says nothing about
    its own equality is equal to itself only. Numbers may deviate by `atol`, or by `rtol` relative to
    the larger of the two.
    """
    return _Comparison(Tolerance(rtol, atol)).difference(left, right, path)


def equal(left: object, right: object) -> bool:
    """Whether two values are equal in the sense of `difference`."""
    return difference(left, right) is None


class _Comparison:
    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._open: set[tuple[int, int]] = set()

    def difference(self, left: object, right: object, path: str) -> str | None:
        if left is right:
            return None
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            return _at(path, tensor_difference(left, right, self._tolerance))
        if type(left) is not type(right) and not _numbers(left, right):
            return _at(path, f"{describe(left)} against {describe(right)}")
        if _is_nan(left) and _is_nan(right):
            return None
        pair = (id(left), id(right))
        if pair in self._open:  # a cycle: whatever differs is found on the way that is open already
            return None
        self._open.add(pair)
        try:
            return self._same_kind(left, right, path)
        finally:
            self._open.discard(pair)

    def _same_kind(self, left: object, right: object, path: str) -> str | None:
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            return self._arrays(left, right, path)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            keys, others = left.keys(), right.keys()  # iterating over a TensorDict itself gives rows
            if keys != others:
                only = [key for key in keys if key not in others] + [key for key in others if key not in keys]
                return _at(path, f"the key {only[0]!r} is on one side only")
            return next((d for key in keys if (d := self.difference(left[key], right[key], f"{path}[{key!r}]"))), None)
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            if len(left) != len(right):
                return _at(path, f"{describe(left)} against {describe(right)}")
            pairs = enumerate(zip(left, right, strict=True))
            return next((d for at, (a, b) in pairs if (d := self.difference(a, b, f"{path}[{at}]"))), None)
        if dataclasses.is_dataclass(left) and not isinstance(left, type):
            names = [field.name for field in dataclasses.fields(left) if field.compare]
            if names:
                a, b = ({name: getattr(side, name, None) for name in names} for side in (left, right))
                return self._same_kind(a, b, path)
        try:
            same = bool(left == right) or (any(self._tolerance) and _close(left, right, self._tolerance))
        except Exception as error:  # a user's own __eq__ may do anything; it must not end a union
            return _at(path, f"{describe(left)} cannot be compared: {error}")
        return None if same else _at(path, f"{_short(left)} against {_short(right)}")

    def _arrays(self, left: np.ndarray, right: np.ndarray, path: str) -> str | None:
        if left.dtype != right.dtype or left.shape != right.shape:
            return _at(path, f"{describe(left)} against {describe(right)}")
        if left.dtype == object:
            pairs = enumerate(zip(left.flat, right.flat, strict=True))
            return next((d for at, (a, b) in pairs if (d := self.difference(a, b, f"{path}[{at}]"))), None)
        if left.dtype.kind in "biufc" and left.dtype.type not in (np.longdouble, np.clongdouble):
            native = left.dtype.newbyteorder("=")
            one, two = (torch.from_numpy(np.array(side, native)) for side in (left, right))
            return _at(path, tensor_difference(one, two, self._tolerance))
        unequal = np.flatnonzero(((left != right) & ((left == left) | (right == right))).reshape(-1))
        return None if not len(unequal) else _at(path, f"element {unequal[0]} differs")


def tensor_difference(left: Tensor, right: Tensor, tolerance: Tolerance = EXACT) -> str | None:
    """How two tensors differ: by dtype, shape or layout, or the first row and the largest deviation of their values.

    Elements that deviate by no more than the tolerance do not count.
    """
    if same_memory(left, right):
        return None
    kinds = ((side.dtype, side.layout, side.is_nested, side.dim()) for side in (left, right))
    if next(kinds) != next(kinds):
        return f"{describe(left)} against {describe(right)}"
    if is_jagged(left):
        if ragged_axis(left) != ragged_axis(right):
            return f"ragged on axis {ragged_axis(left)} against axis {ragged_axis(right)}"
        (mine, offsets, axis), (theirs, other_offsets, _) = jagged.parts(left), jagged.parts(right)
        if tensor_difference(offsets.long(), other_offsets.long()) is not None:
            return "other row lengths"
        if mine.shape != theirs.shape:
            return f"{describe(left)} against {describe(right)}"
        return _deviation(mine.movedim(axis, 0), theirs.movedim(axis, 0), tolerance, offsets)
    if left.is_nested:
        rows, other_rows = left.unbind(0), right.unbind(0)
        if len(rows) != len(other_rows):
            return f"{count(len(rows), 'row')} against {count(len(other_rows), 'row')}"
        pairs = enumerate(zip(rows, other_rows, strict=True))
        return next((f"row {at}: {d}" for at, (a, b) in pairs if (d := tensor_difference(a, b, tolerance))), None)
    if left.shape != right.shape:
        return f"{describe(left)} against {describe(right)}"
    return _deviation(left, right, tolerance)


def same_memory(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors are the same elements of the same memory, so that comparing them is needless."""
    if left is right:
        return True
    if left.is_nested or right.is_nested or left.dtype is not right.dtype or left.shape != right.shape:
        return False
    return left.device == right.device and left.data_ptr() == right.data_ptr() and left.stride() == right.stride()


def _deviation(left: Tensor, right: Tensor, tolerance: Tolerance, offsets: Tensor | None = None) -> str | None:
    """How the values of two tensors of one shape differ; `offsets` say where the rows start if they are ragged."""
    left, right = left.detach(), right.detach().to(left.device)
    if left.is_floating_point() and left.element_size() == 1:
        left, right = left.float(), right.float()  # torch compares no float8
    if same_memory(left, right) or torch.equal(left, right):
        return None
    unequal = left != right
    if left.is_floating_point() or left.is_complex():
        unequal &= ~(torch.isnan(left) & torch.isnan(right))
    counted = left.dtype is not torch.bool and not left.is_complex()
    if counted and any(tolerance):
        unequal &= ~_near(left.double(), right.double(), tolerance)
    if not bool(unequal.any()):
        return None
    row = int(unequal.reshape(left.shape[0], -1).any(1).nonzero()[0]) if left.dim() else 0
    if offsets is not None:
        row = int(torch.searchsorted(offsets, row, right=True)) - 1
    number = int(unequal.sum())
    text = "1 element differs" if number == 1 else f"{number} elements differ"
    if not counted:
        return f"{text}, first in row {row}"
    gap = (left.double() - right.double()).abs()[unequal]
    largest = "NaN on one side" if bool(torch.isnan(gap).any()) else f"by up to {gap.max().item():.3g}"
    return f"{text} {largest}, first in row {row}"


def _near(left: Tensor, right: Tensor, tolerance: Tolerance) -> Tensor:
    gap = (left - right).abs()
    allowed = (tolerance.rtol * torch.maximum(left.abs(), right.abs())).clamp(min=tolerance.atol)
    return gap.isfinite() & (gap <= allowed)  # infinity is near to nothing


def _close(left: object, right: object, tolerance: Tolerance) -> bool:
    if not isinstance(left, Real) or not isinstance(right, Real) or isinstance(left, bool):
        return False
    return math.isclose(left, right, rel_tol=tolerance.rtol, abs_tol=tolerance.atol)


def _numbers(left: object, right: object) -> bool:
    """An int and a float may be equal; a bool is only equal to a bool."""
    numbers = (int, float)
    both = isinstance(left, numbers) and isinstance(right, numbers)
    return both and not isinstance(left, bool) and not isinstance(right, bool)


def _is_nan(value: object) -> bool:
    """Whether this is a number, or a time, that is not equal to itself."""
    return isinstance(value, (float, complex, np.generic)) and bool(value != value)


def _at(path: str, text: str | None) -> str | None:
    return text if text is None or not path else f"{path}: {text}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
