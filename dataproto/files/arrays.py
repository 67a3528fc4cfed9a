"""numpy arrays and tensors as flat bytes, and back; what comes back has memory of its own only if the bytes have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.files.broken import Broken
from batchpact.dataproto.files.dtypes import numpy_dtype, plain_torch, torch_dtype
from batchpact.dataproto.raw_bytes import from_bytes, to_bytes
from batchpact.schemas.axes import is_dense
from batchpact.schemas.describe import describe
from batchpact.schemas.text import count

Flat: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"

_AXES = 32  # as many as the oldest numpy has
_LAST_CHARACTER = 0x10FFFF


def flat_array(array: np.ndarray) -> Flat:
    """The bytes of an array in C order; a view where it lies so already."""
    flat: Flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return flat


def flat_tensor(tensor: Tensor) -> Flat:
    """The bytes of a dense tensor in C order; a view where it lies so on the CPU."""
    flat: Flat = to_bytes(tensor).cpu().numpy()
    return flat


def odd_tensor(tensor: Tensor) -> str | None:
    """What a tensor is whose elements are not all there is to it; None for dense and nested ones."""
    if tensor.is_meta:
        return "tensor without values, on the meta device"
    if tensor.is_quantized or not plain_torch(tensor.dtype):
        return "quantized tensor"
    return None if tensor.is_nested or is_dense(tensor) else f"{str(tensor.layout).removeprefix('torch.')} tensor"


def array_of(flat: Flat, dtype: str, shape: Sequence[int]) -> np.ndarray:
    """The array of these bytes, in their memory.

    Raises:
        Broken: if these are not the bytes of such an array.
    """
    kind = numpy_dtype(dtype)
    _check_size(flat, kind.itemsize, dtype, shape)
    made: np.ndarray = flat.view(kind).reshape(tuple(shape))
    if kind.kind == "b" and not _booleans(flat):
        raise Broken("bytes that are neither 0 nor 1", "booleans")
    if kind.kind == "U" and int(flat.view(f"{kind.byteorder}u4").max(initial=0)) > _LAST_CHARACTER:
        raise Broken("numbers that are no characters", "text")
    return made


def tensor_of(flat: Flat, dtype: str, shape: Sequence[int]) -> Tensor:
    """The dense tensor of these bytes, in their memory.

    Raises:
        Broken: if these are not the bytes of such a tensor.
    """
    kind = torch_dtype(dtype)
    _check_size(flat, kind.itemsize, dtype, shape)
    if kind is torch.bool and not _booleans(flat):
        raise Broken("bytes that are neither 0 nor 1", "booleans")
    # torch sees no bytes as bytes of stride 0, which it does not view as anything else.
    return from_bytes(torch.from_numpy(flat), kind, shape) if len(flat) else torch.empty(tuple(shape), dtype=kind)


def jagged_of(values: Tensor, offsets: Tensor, axis: int) -> Tensor:
    """The jagged nested tensor of these values, ragged on one of their axes.

    Raises:
        Broken: if the offsets do not cut the values into rows.
    """
    fits = offsets.dim() == 1 and len(offsets) > 0 and offsets.dtype in (torch.int32, torch.int64)
    if not fits or not 0 <= axis < values.dim():
        raise Broken(f"offsets {describe(offsets)} on axis {axis} of values {describe(values)}", "a jagged tensor")
    if int(offsets[0]) != 0 or int(offsets[-1]) != values.shape[axis] or bool((offsets.diff() < 0).any()):
        raise Broken("offsets that do not cut the values into rows", "where each row starts, and the last one ends")
    return nested.build(values, offsets, axis)


def _check_size(flat: Flat, itemsize: int, dtype: str, shape: Sequence[int]) -> None:
    whole = len(shape) <= _AXES and all(size >= 0 for size in shape)
    if not whole or math.prod(shape) * itemsize != len(flat):
        raise Broken(count(len(flat), "byte"), f"those of {dtype}{list(shape[:_AXES])}")


def _booleans(flat: Flat) -> bool:
    return int(flat.max(initial=0)) <= 1
