"""Values as plain tuples that say what they are, each beside the memory of its elements.

| form | what it is |
| --- | --- |
| `("dense", dtype, shape, buffer)` | a tensor |
| `("jagged", values, offsets, axis)` | a jagged nested tensor: two dense forms, and the ragged axis of the values |
| `("strided", dtype, rows)` | a strided nested tensor: a dense form for each row |
| `("tensordict", batch size, device, fields)` | a `TensorDict` |
| `("array", dtype, shape, buffer)` | a numpy array |
| `("objects", shape, cells)` | a numpy array of objects |
| `("pickled", value)` | whatever knows best itself how it is pickled |

A buffer stands in the pickle where its bytes are few, or the protocol has no buffers; else it is one of pickle's
`PickleBuffer`s. A value that stands in several places is one form, which pickle sends once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

import numpy as np
import torch
from tensordict import MemoryMappedTensor, TensorDict, TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.tensors import items
from batchpact.dataproto.wire.memory import NAMES, buffer_of, buffer_of_array
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.dtypes import dtype_name

Form: TypeAlias = "tuple[object, ...]"

_PLAIN = (Tensor, torch.nn.Parameter, MemoryMappedTensor)
_AXES = 32  # as many as the oldest numpy has


class Packing:
    """Makes the forms of one pickle."""

    def __init__(self, protocol: int) -> None:
        self._apart = protocol >= 5
        self._known: dict[int, tuple[object, Form]] = {}
        self._whole: dict[int, Rows] = {}

    def tensors(self, held: Mapping[str, object]) -> dict[str, Form]:
        """The forms of what stands in a `TensorDict`."""
        return {key: self.tensor(value) for key, value in held.items()}

    def tensor(self, value: object) -> Form:
        """The form of a tensor, in any layout, or of a `TensorDict`. What is differentiated stays behind."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        form = self._dense(value) if is_plain(value) else self._other(value)
        self._known[id(value)] = value, form  # the value is kept, or another one could get its id
        return form

    def column(self, column: np.ndarray, cells: list[object] | None) -> Form:
        """The form of a column, where it is one of objects with these cells."""
        return self.array(column) if cells is None else ("objects", column.shape, cells)

    def array(self, array: np.ndarray) -> Form:
        """The form of an array."""
        known = self._known.get(id(array))
        if known is not None:
            return known[1]
        if not is_bytes(array):
            return "pickled", array
        kind = array.dtype
        said = kind.str if np.dtype(kind.str) == kind else kind
        form = "array", said, array.shape, buffer_of_array(array, self._apart)
        self._known[id(array)] = array, form
        return form

    def _dense(self, tensor: Tensor) -> Form:
        return "dense", NAMES[tensor.dtype], tuple(tensor.shape), buffer_of(tensor, self._apart)

    def _other(self, value: object) -> Form:
        if isinstance(value, TensorDict):
            device = None if value.device is None else str(value.device)
            return "tensordict", tuple(value.batch_size), device, self.tensors(items(value))
        if isinstance(value, Tensor) and is_jagged(value):
            return self._jagged(value.detach())
        if type(value) is Tensor and value.is_nested:
            rows = [self._dense(row) for row in value.detach().unbind(0)]
            return "strided", dtype_name(value.dtype), rows
        if isinstance(value, (Tensor, TensorDictBase)):
            value = value.detach()
            if value.device is not None and value.device.type not in ("cpu", "meta"):
                value = value.cpu()
        return "pickled", value

    def _jagged(self, tensor: Tensor) -> Form:
        whole = self._whole.setdefault(len(tensor), Rows.span(0, len(tensor)))
        values, offsets, axis = nested.parts(tensor, whole)
        return "jagged", self.tensor(values), self.tensor(offsets), axis


def is_plain(value: object) -> TypeGuard[Tensor]:
    """Whether this is a tensor that is its elements, and nothing else."""
    return (
        isinstance(value, Tensor)
        and type(value) in _PLAIN
        and value.layout is torch.strided
        and not value.is_nested
        and not value.is_meta
        and value.dtype in NAMES
        and value.dim() <= _AXES
    )


def is_bytes(array: np.ndarray) -> bool:
    """Whether this is an array that is its elements, and nothing else."""
    return type(array) is np.ndarray and not array.dtype.hasobject and array.itemsize > 0
