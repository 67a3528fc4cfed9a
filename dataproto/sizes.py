"""How many bytes fields take."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np
import torch
from tensordict import TensorDictBase

from batchpact.schemas.axes import is_jagged, offsets_of
from batchpact.schemas.stores import Column

_SHARED_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def tensor_bytes(tensors: Mapping[str, object]) -> int:
    """The bytes of the elements of these tensors; an expanded tensor counts as what it would be when written out."""
    return sum(value_bytes(tensor) for tensor in tensors.values())


def value_bytes(value: object) -> int:
    """The bytes of the elements of a tensor, or of all tensors of a nested `TensorDict`."""
    if isinstance(value, TensorDictBase):
        return tensor_bytes(dict(value.items()))
    return _bytes(value) if isinstance(value, torch.Tensor) else 0


def column_bytes(column: Column) -> int:
    """The bytes of a column with all that its cells hold; an object that stands in several cells counts once."""
    return deep_bytes(column)


def deep_bytes(value: object) -> int:
    """The bytes of a value with all that it refers to: each object once, classes and functions not at all."""
    total = 0
    seen: set[int] = set()
    waiting: list[object] = [value]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, _SHARED_CODE):
            continue
        seen.add(id(found))
        own, parts = _own_bytes(found)
        total += own
        waiting.extend(parts)
    return total


def _own_bytes(value: object) -> tuple[int, list[object]]:
    """What an object takes by itself, and what it refers to."""
    if isinstance(value, torch.Tensor):
        return _bytes(value), []
    if isinstance(value, np.ndarray):
        return value.nbytes, list(value.flat) if value.dtype == object else []
    if isinstance(value, TensorDictBase):
        return 0, list(value.values())
    own = sys.getsizeof(value, 0)
    if isinstance(value, (str, bytes, bytearray, int, float, complex, np.generic)):
        return own, []
    parts: list[object] = []
    if isinstance(value, dict):
        parts += [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        parts += value
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        parts.append(attributes)
    slots = {name for kind in type(value).__mro__ for name in _slots(kind)}
    parts += [getattr(value, name) for name in slots if hasattr(value, name)]
    return own + _pixels(value), parts


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _pixels(value: object) -> int:
    """The bytes of the pixels of a PIL image, which Python does not see."""
    if not type(value).__module__.startswith("PIL."):
        return 0
    size, mode = getattr(value, "size", None), getattr(value, "mode", None)
    if not isinstance(size, tuple) or not isinstance(mode, str):
        return 0
    width, height = size
    return int(width * height) * (1 if mode in ("1", "L", "P") else 4)  # PIL keeps RGB in four bytes, too


def _bytes(tensor: torch.Tensor) -> int:
    if is_jagged(tensor):
        return _bytes(tensor.values()) + _bytes(offsets_of(tensor))
    if tensor.is_nested:
        return sum(_bytes(part) for part in tensor.unbind(0))
    return tensor.numel() * tensor.element_size()
