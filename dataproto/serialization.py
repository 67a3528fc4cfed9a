"""Tensors as names, sizes and bytes, and back, in the form of verl's four functions: either side reads the other.

A dense tensor is `(dtype, shape, bytes)`, a nested one `(layout, rows)` with such a triple for each row. verl's form
does not say on which axis a jagged tensor is ragged, nor what one without rows is. Ours does, and verl still reads it
where it can read its own: rows that are ragged on another axis than the first have -1 as the size of that axis. Where
there is no row, or no element, to say it by, the form is `(layout, rows, dtype, shape)`, with the shape of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar, cast

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.build import leading_sizes
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import Value, items, store
from batchpact.dataproto.wire.memory import DTYPES, bytes_of, tensor_of
from batchpact.dataproto.wire.packing import is_plain
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.describe import describe
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.errors import BatchError
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation

Shape: TypeAlias = "tuple[int, ...]"
Bytes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"
EncodedTensor: TypeAlias = "tuple[str, Shape, Bytes]"
EncodedField: TypeAlias = (
    "EncodedTensor | tuple[str, list[EncodedTensor]] | tuple[str, list[EncodedTensor], str, Shape]"
)
EncodedBatch: TypeAlias = "tuple[Shape, str | None, dict[str, EncodedField]]"

RAGGED = -1
"""Stands for the size of the ragged axis in the shape of a row."""

_DENSE = "a tensor as (dtype, shape, bytes)"
_NESTED = "a nested one as ('jagged' or 'strided', list of rows)"
T = TypeVar("T")


# --- writing ----------------------------------------------------------------------------------------------------------


def serialize_single_tensor(obj: Tensor) -> EncodedTensor:
    """A dense tensor as plain values.

    Args:
        obj: a dense tensor of any dtype, shape and device; it stays as it is.

    Returns:
        The name of its dtype, its shape, and its bytes as a numpy array. The array shares the memory of a contiguous
        tensor on the CPU.

    Raises:
        BatchError: for anything else: nested, sparse, quantized and meta tensors.
    """
    if not is_plain(obj):
        hint = "serialize_tensordict takes nested tensors, in a TensorDict"
        raise refuse("serialize_single_tensor", "BP045", "obj", describe(obj), "a dense tensor with its values", hint)
    return _encode(obj)


def serialize_tensordict(batch: TensorDictBase) -> EncodedBatch:
    """A `TensorDict` of tensors as plain values; nothing is pickled.

    Args:
        batch: dense, jagged and strided nested tensors; it stays as it is.

    Returns:
        Its batch size, its device (None where it has none) and its tensors, encoded, by name. Their bytes share the
        memory of the tensors where that is possible.

    Raises:
        BatchError: naming every entry that is no tensor, or one without plain bytes.
    """
    if not isinstance(batch, TensorDictBase):
        raise refuse("serialize_tensordict", "BP045", "batch", describe(batch), "a TensorDict")
    expected = "tensors alone, dense or nested, with their values"
    odd = {key: value for key, value in items(batch).items() if not _can_be_encoded(value)}
    if odd:
        wrong = [
            Violation(code="BP045", field=key, actual=describe(value), expected=expected) for key, value in odd.items()
        ]
        raise refuse_all("serialize_tensordict", wrong)
    encoded = {key: _encode_field(value) for key, value in items(batch).items() if isinstance(value, Tensor)}
    return tuple(batch.batch_size), None if batch.device is None else str(batch.device), encoded


def _can_be_encoded(value: object) -> bool:
    return is_plain(value) or (isinstance(value, Tensor) and value.is_nested and not value.is_meta)


def _encode(dense: Tensor, shape: Shape | None = None) -> EncodedTensor:
    return dtype_name(dense.dtype), tuple(dense.shape) if shape is None else shape, bytes_of(dense)


def _encode_field(value: Tensor) -> EncodedField:
    if not value.is_nested:
        return _encode(value)
    whole = value.detach().cpu()
    if not is_jagged(whole):
        rows = [_encode(row) for row in whole.unbind(0)]
        return ("strided", rows) if rows else ("strided", [], dtype_name(value.dtype), ())
    values, offsets, axis = nested.parts(whole)
    ends = offsets.tolist()
    pieces = [values.narrow(axis, start, end - start) for start, end in pairwise(ends)]
    marked = tuple(RAGGED if at == axis else size for at, size in enumerate(values.shape))
    if not pieces or 0 in marked:
        return "jagged", [_encode(row) for row in pieces], dtype_name(values.dtype), marked
    return "jagged", [_encode(row, marked if axis else None) for row in pieces]


# --- reading ----------------------------------------------------------------------------------------------------------


def deserialize_single_tensor(arr: object) -> Tensor:
    """The tensor that `serialize_single_tensor`, ours or verl's, was given.

    Args:
        arr: the name of a dtype, a shape, and bytes: a numpy array, `bytes`, or anything that shows its memory.

    Returns:
        A dense tensor in memory of its own.

    Raises:
        BatchError: if this is in another form.
    """
    return _read("deserialize_single_tensor", "arr", _tensor, arr)


def deserialize_tensordict(arr: object) -> TensorDict:
    """The `TensorDict` that `serialize_tensordict`, ours or verl's, was given.

    Args:
        arr: a batch size, the name of a device or None, and encoded tensors by name.

    Returns:
        A `TensorDict` in memory of its own, on that device.

    Raises:
        BatchError: naming every field that is in another form, or does not have the batch size.
    """
    function = "deserialize_tensordict"
    size, device, fields = _read(function, "arr", _outline, arr)
    tensors: dict[str, Value] = {}
    wrong: list[Violation] = []
    for key, encoded in fields.items():
        try:
            tensors[key] = value = _read(function, key, _field, encoded)
        except BatchError as error:
            wrong += error.violations
            continue
        axes = min(value.dim(), 1 if value.is_nested else len(size))
        if len(size) > value.dim() or leading_sizes(value, axes)[: len(size)] != size:
            expected = f"batch size {list(size)}"
            wrong.append(Violation(code="BP047", field=key, actual=describe(value), expected=expected))
    if wrong:
        raise refuse_all(function, wrong)
    if device is not None:
        tensors = {key: value.to(device) for key, value in tensors.items()}
    return store(tensors, size, device)


class _Malformed(Exception):
    """What stands in the place of a part of the form, and what belongs there."""

    def __init__(self, actual: str, expected: str) -> None:
        super().__init__(actual, expected)
        self.actual, self.expected = actual, expected


def _read(function: str, field: str, read: Callable[[object], T], encoded: object) -> T:
    """What a reader makes of this; what it finds malformed is a refusal that names the field."""
    try:
        return read(encoded)
    except _Malformed as found:
        raise refuse(function, "BP047", field, found.actual, found.expected) from None


def _outline(encoded: object) -> tuple[Shape, torch.device | None, Mapping[str, object]]:
    size, device, fields = _parts(encoded, "(batch size, device, tensors by name)", 3)
    if not isinstance(fields, Mapping) or not all(isinstance(key, str) for key in fields):
        raise _Malformed(describe(fields), "a dict of encoded tensors by name")
    if device is not None and not isinstance(device, str):
        raise _Malformed(describe(device), "the name of a device, or None")
    try:
        target = None if device is None else torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:  # the latter where torch was built without such devices
        raise _Malformed(_first_line(error), f"device '{device}'") from None
    return _shape(size, least=0), target, fields


def _field(encoded: object) -> Tensor:
    parts = _parts(encoded, f"{_DENSE}, or {_NESTED}", 2, 3, 4)
    if len(parts) == 3:
        return _tensor(parts)
    layout, found = parts[:2]
    if layout not in ("jagged", "strided") or not isinstance(found, (list, tuple)):
        raise _Malformed(f"{layout!r} with {describe(found)}", _NESTED)
    rows = [_tensor(row) for row in found]
    if len(parts) == 4:
        dtype, shape = _dtype(parts[2]), _shape(parts[3])
    elif rows:
        dtype, shape = rows[0].dtype, _common_shape([_shape(row[1]) for row in found])
    else:
        raise _Malformed("a nested tensor without rows, of unknown dtype", "(layout, [], dtype, shape of a row)")
    if any(row.dtype is not dtype for row in rows):
        raise _Malformed(join_names(list(dict.fromkeys(map(describe, rows)))), f"rows of {dtype_name(dtype)}")
    return _jagged(rows, dtype, shape) if layout == "jagged" else _strided(rows, dtype)


def _jagged(rows: Sequence[Tensor], dtype: torch.dtype, shape: Shape) -> Tensor:
    fits = (len(row.shape) == len(shape) and all(map(_fits, row.shape, shape)) for row in rows)
    if shape.count(RAGGED) != 1 or not all(fits):
        raise _Malformed(join_names(list(dict.fromkeys(map(describe, rows)))), "rows that differ on one axis alone")
    axis = shape.index(RAGGED)
    empty = torch.empty([0 if size == RAGGED else size for size in shape], dtype=dtype)
    ends = torch.tensor([0, *(row.shape[axis] for row in rows)]).cumsum(0)
    return nested.build(torch.cat([empty, *rows], dim=axis), ends, axis)


def _strided(rows: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    try:
        return torch.nested.as_nested_tensor(list(rows), dtype=dtype)
    except RuntimeError as error:  # they differ in rank, or torch has no nested tensors of this dtype
        raise _Malformed(_first_line(error), "rows of a nested tensor") from None


def _common_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape of all rows, ragged where they differ, or else where verl's rows are: on the first axis."""
    found = tuple(sizes[0] if len(set(sizes)) == 1 else RAGGED for sizes in zip(*shapes, strict=False))
    return found if RAGGED in found else (RAGGED, *found[1:])


def _fits(size: int, declared: int) -> bool:
    return declared in (size, RAGGED)


def _tensor(encoded: object) -> Tensor:
    """A copy, as what is given may be read-only, not aligned, or a view into a message."""
    name, sizes, data = _parts(encoded, _DENSE, 3)
    dtype, shape = _dtype(name), _shape(sizes)
    try:
        found: Bytes = np.frombuffer(cast("bytes", data), dtype=np.uint8)
    except (TypeError, ValueError, BufferError):
        raise _Malformed(describe(data), "bytes, in one run") from None
    row = dtype.itemsize * math.prod(size for size in shape if size != RAGGED)
    whole = len(found) == row if RAGGED not in shape else row and not len(found) % row
    if not whole or shape.count(RAGGED) > 1:
        raise _Malformed(count(len(found), "byte"), f"those of {short_name(dtype_name(dtype))}{list(shape)}")
    resolved = (len(found) // row if size == RAGGED else size for size in shape)
    return tensor_of(dtype_name(dtype), tuple(resolved), found, copied=True)


def _parts(encoded: object, expected: str, *lengths: int) -> Sequence[object]:
    if not isinstance(encoded, (tuple, list)) or len(encoded) not in lengths:
        raise _Malformed(describe(encoded), expected)
    return encoded


def _dtype(name: object) -> torch.dtype:
    if not isinstance(name, str) or name not in DTYPES:
        raise _Malformed(f"dtype {name!r}" if isinstance(name, str) else describe(name), "the name of a torch dtype")
    return DTYPES[name][0]


def _shape(sizes: object, least: int = RAGGED) -> Shape:
    whole = isinstance(sizes, (tuple, list)) and all(type(size) is int and size >= least for size in sizes)
    if not whole:
        raise _Malformed(describe(sizes), "a shape")
    return tuple(cast("Sequence[int]", sizes))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
