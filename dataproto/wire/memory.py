"""Memory as buffers, and back: of tensors of every dtype, without a copy that nobody asked for.

The memory of a tensor is reached by its address. `Tensor.numpy()` would make it one that can never be resized again,
and sending a tensor changes nothing.
"""

from __future__ import annotations

import ctypes
from pickle import PickleBuffer
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas.dtypes import dtype_name

Shape: TypeAlias = "tuple[int, ...]"
Buffer: TypeAlias = "bytearray | PickleBuffer"

FEW = 16384
"""Bytes up to which a copy inside the pickle costs less than a buffer of its own."""

_CACHE_LINE = 64
_HUGE_PAGE = 2 << 20


def _numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """Numpy's own dtype of the same name, or where it has none, one with as many bytes."""
    found: object = getattr(np, dtype_name(dtype).replace("bool", "bool_"), None)
    if isinstance(found, type) and issubclass(found, np.generic):
        return np.dtype(found)
    return np.dtype(f"u{dtype.itemsize}")


# A quantized tensor is more than its elements: torch pickles it.
DTYPES = {
    dtype_name(dtype): (dtype, _numpy_dtype(dtype))
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype) and not dtype_name(dtype).startswith("q")
}
"""Torch's dtypes by name, each with the dtype in which numpy holds its elements."""

NAMES = {dtype: name for name, (dtype, _) in DTYPES.items()}


# --- out ------------------------------------------------------------------------------------------------------------


def buffer_of(tensor: Tensor, apart: bool) -> Buffer:
    """The elements of a dense tensor in C order.

    Args:
        tensor: it stays as it is; one on a device, or one that is not contiguous, is copied.
        apart: whether many bytes may be a buffer of their own, without a copy.
    """
    tensor = _whole(tensor)
    if apart and tensor.nbytes > FEW:
        return _buffer(_bytes_of(tensor))
    return bytearray(ctypes.string_at(tensor.data_ptr(), tensor.nbytes))


def bytes_of(tensor: Tensor) -> np.ndarray:
    """The bytes of a dense tensor's elements in C order, `[bytes]`; those of the tensor itself where they lie so."""
    return _bytes_of(_whole(tensor))


def _whole(tensor: Tensor) -> Tensor:
    if tensor.is_neg() or tensor.is_conj() or not (tensor.is_cpu and tensor.is_contiguous()):
        return tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return tensor


def _bytes_of(whole: Tensor) -> np.ndarray:
    return _at(whole.data_ptr(), (whole.nbytes,), np.dtype("u1"), whole)


def buffer_of_array(array: np.ndarray, apart: bool) -> Buffer:
    """The elements of an array in C order, as `buffer_of` gives them."""
    if not (apart and array.nbytes > FEW):
        return bytearray(array.tobytes())
    whole = array if array.flags.c_contiguous else array.copy(order="C")
    return _buffer(whole.reshape(-1).view(np.uint8))  # numpy shows no buffer of dates


def _buffer(array: Any) -> PickleBuffer:
    return PickleBuffer(array)  # numpy's types show its buffers from Python 3.12 on


class _Memory:
    """Memory in the form that numpy reads; it is there as long as its owner, which it holds."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address: int, shape: Shape, dtype: np.dtype[Any], owner: object) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}


def _at(address: int, shape: Shape, dtype: np.dtype[Any], owner: object) -> np.ndarray:
    return np.asarray(_Memory(address, shape, dtype, owner))


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


# --- in -------------------------------------------------------------------------------------------------------------


def tensor_of(name: str, shape: Shape, buffer: Any, *, copied: bool) -> Tensor:
    """The tensor of these bytes.

    Args:
        name: of its dtype.
        shape: its sizes.
        buffer: its elements.
        copied: whether it has memory of its own; else it is a view, also of what may only be read.

    Raises:
        KeyError, TypeError, ValueError: if these are not the bytes of such a tensor.
    """
    dtype, kind = DTYPES[name]
    found = array_of(kind, shape, buffer, copied=copied)
    if not found.flags.aligned:
        found = _copy(found)
    elif not found.flags.writeable:  # torch would warn; who asks for a view knows that it is not theirs
        found = _at(_address(found), found.shape, kind, found)
    tensor = torch.from_numpy(found)
    return tensor if tensor.dtype is dtype else tensor.view(dtype)


def array_of(dtype: np.dtype[Any], shape: Shape, buffer: Any, *, copied: bool) -> np.ndarray:
    """The array of these bytes, in memory of its own or as a view that numpy protects.

    Raises:
        TypeError, ValueError: if these are not the bytes of such an array.
    """
    if dtype.hasobject:
        raise TypeError("references are no bytes")
    found: np.ndarray = np.ndarray(shape, dtype, buffer)
    if found.shape != shape or found.nbytes != memoryview(buffer).nbytes:
        raise ValueError("other bytes")  # numpy would take what fits
    return _copy(found) if copied else found


def _copy(array: np.ndarray) -> np.ndarray:
    """A copy; that of many bytes starts where a cache line does, or a huge page.

    Fresh memory costs more than the copy, a page fault for each 4 KB. Numpy asks for huge pages; here the whole array
    gets them, as it starts where one does.
    """
    if array.nbytes <= FEW:
        few: np.ndarray = array.copy()
        return few
    line = _HUGE_PAGE if array.nbytes >= _HUGE_PAGE else _CACHE_LINE
    room = np.empty(array.nbytes + line, np.uint8)
    made: np.ndarray = np.ndarray(array.shape, array.dtype, room, -_address(room) % line)
    made[...] = array
    return made
