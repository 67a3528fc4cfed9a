"""Numbers, arrays or tensors of several parts as one: their sum, their mean or the largest of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import TypeAlias, cast

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas.axes import is_dense
from batchpact.schemas.describe import describe

Parts: TypeAlias = "Sequence[tuple[str, object]]"
"""Values, each with a word for where it comes from."""


class Unmergeable(Exception):
    """Values that cannot become one: why not, and at which key of a dict, as `['loss']`."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self.why, self.path = why, path

    def under(self, key: object) -> Unmergeable:
        """The same, told of a dict that holds these values."""
        return Unmergeable(self.why, f"[{key!r}]{self.path}")


def reduce_numbers(parts: Parts, how: str) -> object:
    """The `sum`, `mean` or `max` of numbers, or element by element of arrays or tensors of one dtype and shape.

    The dtype stays, except that a mean of integers is a float; small dtypes are calculated in larger ones. NaN stays
    NaN. Truth values are no numbers.

    Raises:
        Unmergeable: if the values are no numbers, differ in dtype or shape, or their dtype cannot hold the sum.
    """
    values = [value for _, value in parts]
    kinds = {_kind(value) for value in values}
    if None in kinds:
        raise Unmergeable(f"{how} is for numbers, arrays and tensors, and {kinds_of(parts)}")
    if len(kinds) > 1:
        if not all(isinstance(value, (Real, np.generic)) for value in values):
            raise Unmergeable(f"{how} needs one dtype and shape, and {kinds_of(parts)}")
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if isinstance(values[0], Tensor):
        return _of_tensors(cast("list[Tensor]", values), how)
    if isinstance(values[0], (np.ndarray, np.generic)):
        return _of_arrays(values, how)
    return _of_numbers(cast("list[float]", values), how)


def kinds_of(parts: Parts) -> str:
    """Which parts have which kind of value, in words."""
    first: dict[str, str] = {}
    for name, value in parts:
        first.setdefault(describe(value), name)
    return ", ".join(f"{name} has {kind}" for kind, name in first.items())


def _kind(value: object) -> Hashable | None:
    """What must be the same for values to be calculated with each other; None where that is not possible at all."""
    if isinstance(value, Tensor):
        number = is_dense(value) and value.dtype is not torch.bool and not value.is_complex()
        return ("tensor", value.dtype, value.shape) if number else None
    if isinstance(value, (np.ndarray, np.generic)):
        return ("array", value.dtype, value.shape) if value.dtype.kind in "iuf" else None
    return "number" if isinstance(value, Real) and not isinstance(value, bool) else None


def _of_numbers(numbers: Sequence[float], how: str) -> float:
    if how == "max":
        return next((number for number in numbers if number != number), max(numbers))
    return sum(numbers) if how == "sum" else sum(numbers) / len(numbers)


def _of_tensors(tensors: Sequence[Tensor], how: str) -> Tensor:
    dtype, device = tensors[0].dtype, tensors[0].device
    wide = dtype if dtype.itemsize > 2 else torch.float32 if dtype.is_floating_point else torch.int64
    stacked = torch.stack([tensor.to(device, wide) for tensor in tensors])
    if how == "max":
        return stacked.amax(0).to(dtype)
    if how == "mean":
        return stacked.mean(0).to(dtype) if dtype.is_floating_point else stacked.double().mean(0)
    total = stacked.sum(0)
    if not dtype.is_floating_point and not torch.equal(total.to(dtype).to(total.dtype), total):
        raise Unmergeable(f"the sum is too large for {describe(tensors[0])}")
    return total.to(dtype)


def _of_arrays(values: Sequence[object], how: str) -> object:
    stacked = np.stack([np.asarray(value) for value in values])
    dtype = stacked.dtype
    whole = dtype.kind != "f"
    wide = None if whole else np.promote_types(dtype, np.float32)
    if how == "max":
        made = stacked.max(axis=0)
    elif how == "mean":
        made = stacked.mean(axis=0, dtype=wide)
        made = made if whole else made.astype(dtype)
    else:
        total = stacked.sum(axis=0, dtype=wide)
        with np.errstate(over="ignore"):  # infinity, as where such numbers are added anywhere else
            made = total.astype(dtype)
        if whole and (made != total).any():
            raise Unmergeable(f"the sum is too large for {describe(np.asarray(values[0]))}")
    return made if isinstance(values[0], np.generic) else np.asarray(made)
