"""The values that forms stand for: what `packing.py` made, in memory of its own or as views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.build import leading_sizes
from batchpact.dataproto.columns import column
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import Value, store
from batchpact.dataproto.wire.memory import DTYPES, Shape, array_of, tensor_of
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import BatchError
from batchpact.schemas.stores import Column
from batchpact.schemas.violations import Violation

LOADS = "pickle.loads"
"""The operation, as errors name it."""

_NO_ELEMENTS = (TypeError, ValueError, KeyError, BufferError)


class Unpacking:
    """Reads the forms of one pickle.

    Args:
        copied: whether arrays, and tensors on the CPU, have memory of their own; else they are views.
        device: where tensors are put; None for the CPU.
    """

    def __init__(self, *, copied: bool, device: str | None = None) -> None:
        self._copied = copied
        self._device = None if device is None else _device(device)
        self._moved = self._device is not None and self._device.type != "cpu"
        self._known: dict[int, tuple[object, Tensor]] = {}
        self._last: dict[int, int] = {}

    def tensors(self, forms: Mapping[str, object], size: Shape, within: str = "") -> dict[str, Value]:
        """What stands in a `TensorDict` of this batch size.

        Raises:
            BatchError: naming every field that is in another form, or does not have the batch size.
        """
        made: dict[str, Value] = {}
        wrong: list[Violation] = []
        for name, form in forms.items():
            key = f"{within}{name}"
            try:
                made[name] = value = self.tensor(key, form)
                _check_size(key, value, size)
            except BatchError as error:
                wrong += error.violations
        if wrong:
            raise refuse_all(LOADS, wrong)
        return made

    def tensor(self, key: str, form: object) -> Value:
        """A tensor, in any layout, or a `TensorDict`.

        Raises:
            BatchError: naming it, if this is no such form.
        """
        if type(form) is tuple and form[:1] == ("dense",):  # most are, and matching takes longer than reading one
            return self._dense(key, form)
        match form:
            case ("jagged", values, offsets, int(axis)):
                return self._jagged(key, values, offsets, axis)
            case ("strided", str(dtype), list(rows)):
                return self._strided(key, dtype, [self._dense(key, row) for row in rows])
            case ("tensordict", tuple(size), device, dict(fields)):
                return self.tensordict(fields, size, device, f"{key}.")
            case ("pickled", value):
                return cast(Value, self._put(value))
        raise malformed(key, describe(form), "the form of a tensor")

    def tensordict(self, forms: Mapping[str, object], size: object, device: object, within: str = "") -> TensorDict:
        """A `TensorDict` of these tensors; one that was on a device is where they are put.

        Raises:
            BatchError: naming every field that is in another form, or does not have the batch size.
        """
        if not isinstance(size, tuple) or not all(type(axis) is int and axis >= 0 for axis in size):
            raise malformed(within.rstrip(".") or "batch", f"batch size {size!r}", "a batch size")
        where = self._device if device is None or self._device is not None else torch.device("cpu")
        return store(self.tensors(forms, size, within), size, where)

    def array(self, key: str, form: object) -> Column:
        """An array.

        Raises:
            BatchError: naming it, if this is no such form.
        """
        match form:
            case ("array", kind, tuple(shape), buffer):
                try:
                    return array_of(np.dtype(cast("str", kind)), shape, buffer, copied=self._copied)
                except _NO_ELEMENTS:
                    raise malformed(key, _bytes(buffer), f"those of {kind} {shape}") from None
            case ("objects", tuple(shape), list(cells)):
                try:
                    return column(cells).reshape(shape)
                except _NO_ELEMENTS:
                    raise malformed(key, f"{len(cells)} cells", f"those of {shape}") from None
            case ("pickled", np.ndarray() as value):
                return value
        raise malformed(key, describe(form), "the form of a column")

    def _dense(self, key: str, form: object) -> Tensor:
        """A dense tensor where it is to be; one form is one tensor."""
        known = self._known.get(id(form))
        if known is not None:
            return known[1]
        found: Tensor = self._put(self._on_the_cpu(key, form))
        self._known[id(form)] = form, found
        return found

    def _on_the_cpu(self, key: str, form: object) -> Tensor:
        if type(form) is not tuple or len(form) != 4 or form[0] != "dense":
            raise malformed(key, describe(form), "the form of a dense tensor")
        _, dtype, shape, buffer = form
        try:
            return tensor_of(dtype, shape, buffer, copied=self._copied and not self._moved)
        except _NO_ELEMENTS:
            raise malformed(key, _bytes(buffer), f"those of {dtype} {shape}") from None

    def _jagged(self, key: str, values_form: object, offsets_form: object, axis: int) -> Tensor:
        values, offsets = self._dense(key, values_form), self._dense(key, offsets_form)
        if id(offsets) not in self._last:
            ends = self._on_the_cpu(key, offsets_form) if self._moved else offsets
            self._last[id(offsets)] = _last_end(key, ends)
        if not 0 <= axis < values.dim() or self._last[id(offsets)] > values.shape[axis]:
            raise malformed(key, f"rows on axis {axis} of {describe(values)}", "rows within the values")
        return nested.build(values, offsets, axis)

    def _strided(self, key: str, dtype: str, rows: list[Tensor]) -> Tensor:
        try:
            return torch.nested.as_nested_tensor(rows, dtype=DTYPES[dtype][0], device=self._device)
        except (KeyError, RuntimeError) as error:  # they differ in rank, or torch has no nested tensors of this dtype
            raise malformed(key, str(error).partition("\n")[0], "rows of a nested tensor") from None

    def _put(self, value: Any) -> Any:
        return value.to(self._device) if self._moved and isinstance(value, (Tensor, TensorDictBase)) else value


def malformed(key: str, actual: str, expected: str) -> BatchError:
    """The error for what does not have the form in which batches are sent."""
    return refuse(LOADS, "BP047", key, actual, expected)


def _check_size(key: str, value: object, size: Shape) -> None:
    if not isinstance(value, (Tensor, TensorDictBase)):
        return
    nested_rows = isinstance(value, Tensor) and value.is_nested
    axes = min(value.dim(), 1 if nested_rows else len(size))
    if len(size) > value.dim() or leading_sizes(value, axes) != size[:axes]:
        raise malformed(key, describe(value), f"batch size {list(size)}")


def _last_end(key: str, offsets: Tensor) -> int:
    """Where the last row ends; offsets that lead elsewhere than into the values would crash whoever follows them."""
    if offsets.dim() != 1 or not len(offsets) or offsets.dtype not in (torch.int32, torch.int64):
        raise malformed(key, describe(offsets), "the offsets of a jagged tensor")
    if int(offsets[0]) < 0 or bool((offsets.diff() < 0).any()):
        raise malformed(key, "offsets that fall", "where each row starts, and the last one ends")
    return int(offsets[-1])


def _bytes(buffer: object) -> str:
    try:
        return f"{memoryview(buffer).nbytes} bytes"  # type: ignore[arg-type]
    except TypeError:
        return describe(buffer)


def _device(name: str) -> torch.device:
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, TypeError, AssertionError) as error:  # the last where torch was built without such devices
        raise malformed("batch", str(error).partition("\n")[0], f"device '{name}'") from None
