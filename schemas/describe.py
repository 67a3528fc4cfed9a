"""Values in a few words, never by their content: `f32[8, 512]`, `8 objects`, `list of 3`."""

from __future__ import annotations

import numpy as np
import torch

from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.markers import PlacementName

STORE_NAMES = {"tensor": "batch", "non_tensor": "non_tensor_batch", "meta": "meta_info", "arg": "the call's arguments"}
"""How users know the stores."""


def describe(value: object) -> str:
    """A value in a few words."""
    if isinstance(value, torch.Tensor):
        return describe_tensor(value)
    if isinstance(value, np.ndarray):
        return describe_column(value)
    if value is None:
        return "None"
    name = type(value).__name__
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return f"{name} of {len(value)}"
    if isinstance(value, (bool, int, float)):
        return f"{name} {value}"
    return name


def describe_tensor(tensor: torch.Tensor) -> str:
    """`f32[8, 512]`; a ragged axis has no size of its own and reads `jagged`. Reads no values."""
    name = short_name(dtype_name(tensor.dtype))
    if tensor.is_nested and tensor.layout is torch.strided:
        return f"{name} strided nested"
    sizes = ", ".join(str(size) if isinstance(size, int) else "jagged" for size in tensor.shape)
    return f"{name}[{sizes}]"


def describe_column(column: np.ndarray) -> str:
    """`8 objects`, or `float32[8]` for a numeric column."""
    if column.dtype == object and column.ndim == 1:
        return f"{len(column)} object" if len(column) == 1 else f"{len(column)} objects"
    sizes = ", ".join(map(str, column.shape))
    return f"{'object' if column.dtype == object else column.dtype.name}[{sizes}]"


def describe_in_store(value: object, placement: PlacementName) -> str:
    """A value and where it was found: `tensor f32[8, 512]`, `8 objects in non_tensor_batch`, `float in meta_info`."""
    if placement == "tensor" and isinstance(value, torch.Tensor):
        return f"tensor {describe_tensor(value)}"
    text = (
        type(value).__name__
        if placement in ("meta", "arg") and isinstance(value, (bool, int, float))
        else describe(value)
    )
    return f"{text} in {STORE_NAMES.get(placement, placement)}"
