"""Dtypes in a file: safetensors has names of its own for most of torch's; the others stand as bytes.

A dtype that safetensors lacks takes one more axis, of as many bytes as an element has; the header says what they are.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import numpy as np
import torch

from batchpact.dataproto.files.broken import Broken
from batchpact.schemas.dtypes import dtype_name

Shape: TypeAlias = "tuple[int, ...]"

BYTES = "U8"

CODES = {
    "bool": "BOOL",
    "uint8": BYTES,
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "float16": "F16",
    "bfloat16": "BF16",
    "uint32": "U32",
    "int32": "I32",
    "float32": "F32",
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
"""safetensors' names, by those of torch and numpy."""

NAMES = {code: name for name, code in CODES.items()}

ITEM_BYTES = {code: getattr(torch, name).itemsize for code, name in NAMES.items()}
"""How many bytes an element has, by safetensors' names."""

_PLAIN = re.compile(r"[<>|][biufc]\d{1,2}|[<>]U\d{1,9}|\|S\d{1,9}|[<>][mM]8(\[[0-9A-Za-z]{1,12}\])?")


def standing(name: str, itemsize: int, shape: Shape) -> tuple[str, Shape]:
    """The dtype and the shape that stand in the file for elements of this dtype."""
    code = CODES.get(name)
    return (BYTES, (*shape, itemsize)) if code is None else (code, shape)


def plain_numpy(dtype: np.dtype[np.generic]) -> bool:
    """Whether arrays of a dtype are numbers, booleans, times or text of one size, and so all there is to them."""
    return _PLAIN.fullmatch(dtype.str) is not None and dtype.itemsize > 0 and dtype.fields is None


def numpy_name(dtype: np.dtype[np.generic]) -> str:
    """What numpy and torch both call a dtype; elements in another byte order than safetensors' have no such name."""
    name: str = dtype.name
    return name if dtype == dtype.newbyteorder("<") else dtype.str


def numpy_dtype(text: str) -> np.dtype[np.generic]:
    """The dtype that numpy's string means.

    Raises:
        Broken: if it is none of `plain_numpy`.
    """
    try:
        found = np.dtype(text) if _PLAIN.fullmatch(text) else None
    except (TypeError, ValueError):
        found = None
    if found is None or found.str != text or not plain_numpy(found):
        raise Broken(f"dtype {text[:40]!r}", "a dtype of numbers, times or text")
    return found


def plain_torch(dtype: torch.dtype) -> bool:
    """Whether the elements of a tensor of this dtype are all there is to it; a quantized one has scales, too."""
    return not dtype_name(dtype).startswith("q")


def torch_dtype(name: str) -> torch.dtype:
    """The dtype that torch calls so.

    Raises:
        Broken: if there is none, or its elements are not all there is to its tensors.
    """
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype) or dtype_name(found) != name or not plain_torch(found):
        raise Broken(f"dtype {name[:40]!r}", "the name of a torch dtype")
    return found
