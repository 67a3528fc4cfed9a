"""How many bytes fields take."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

import numpy as np
import torch
from tensordict import TensorDictBase

from batchpact.schemas.axes import is_jagged, offsets_of
from batchpact.schemas.stores import Column, Stores

_SHARED_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
_UNITS = ("B", "KB", "MB", "GB", "TB")


class Size(NamedTuple):
    """A number of bytes; where it is not the whole, there are more that were not counted."""

    bytes: int
    whole: bool = True

    def __str__(self) -> str:
        return readable(self.bytes) if self.whole else f"at least {readable(self.bytes)}"

    @classmethod
    def total(cls, sizes: Iterable[Size]) -> Size:
        """All of them together."""
        counted = list(sizes)
        return cls(sum(size.bytes for size in counted), all(size.whole for size in counted))


def readable(size: float) -> str:
    """`3 B`, `8.0 KB`: a number of bytes, 1024 of them to a KB."""
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def tensor_bytes(tensors: Mapping[str, object]) -> int:
    """The bytes of the elements of these tensors; an expanded tensor counts as what it would be when written out."""
    return sum(value_bytes(tensor) for tensor in tensors.values())


def value_bytes(value: object) -> int:
    """The bytes of the elements of a tensor, or of all tensors of a nested `TensorDict`."""
    if isinstance(value, TensorDictBase):
        return tensor_bytes(dict(value.items()))
    return _bytes(value) if isinstance(value, torch.Tensor) else 0


def field_bytes(stores: Stores) -> dict[str, int]:
    """The bytes of each field that a batch holds: those of a tensor's elements, all others with all they refer to."""
    return {
        key: value_bytes(value) if placement == "tensor" else deep_bytes(value)
        for placement, held in stores.by_placement()
        for key, value in held.items()
    }


def column_bytes(column: Column) -> int:
    """The bytes of a column with all that its cells hold; an object that stands in several cells counts once."""
    return deep_bytes(column)


def deep_bytes(value: object) -> int:
    """The bytes of a value with all that it refers to: each object once, classes and functions not at all."""
    return deep_size(value).bytes


def deep_size(value: object, most: float = math.inf) -> Size:
    """The same, as far as one comes by looking at so many references."""
    total = 0
    seen: set[int] = set()
    waiting: list[Iterator[object]] = [iter((value,))]
    while waiting:
        for found in waiting[-1]:
            most -= 1
            if most < 0:
                return Size(total, whole=False)
            if id(found) in seen or isinstance(found, _SHARED_CODE):
                continue
            seen.add(id(found))
            own, parts = _own_bytes(found)
            total += own
            if parts is not None:
                waiting.append(iter(parts))
                break
        else:
            waiting.pop()
    return Size(total)


def _own_bytes(value: object) -> tuple[int, Iterable[object] | None]:
    """What an object takes by itself, and what it refers to."""
    if isinstance(value, torch.Tensor):
        return _bytes(value), None
    if isinstance(value, np.ndarray):
        return value.nbytes, value.flat if value.dtype == object else None
    if isinstance(value, TensorDictBase):
        return 0, value.values()
    own = sys.getsizeof(value, 0)
    if isinstance(value, (str, bytes, bytearray, int, float, complex, np.generic)):
        return own, None
    parts: list[Iterable[object]] = []
    if isinstance(value, dict):
        parts += [value.keys(), value.values()]
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        parts.append(value)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        parts.append([attributes])
    slots = {name for kind in type(value).__mro__ for name in _slots(kind)}
    parts.append([getattr(value, name) for name in slots if hasattr(value, name)])
    return own + _pixels(value), chain.from_iterable(parts)


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
