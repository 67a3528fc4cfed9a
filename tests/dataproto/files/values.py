"""Values written as data and read again, and what it means that they are the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from batchpact.dataproto import equal
from batchpact.dataproto.files import forms
from batchpact.dataproto.files.decoding import decode
from batchpact.dataproto.files.encoding import Encoding


def written(value: object) -> bytes:
    """The bytes of a value."""
    return forms.WRITER.encode(Encoding().node(value))


def read(data: bytes) -> Any:
    """The value of these bytes."""
    return decode(np.frombuffer(data, dtype=np.uint8), [(0, len(data))], allow_pickle=False)[0]


def trip(value: object) -> Any:
    """A value, written and read."""
    return read(written(value))


def same(left: Any, right: Any) -> bool:
    """Equal, of one type all the way down, in one order; floats by their bits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left), list(right)) and same(list(left.values()), list(right.values()))
    if isinstance(left, (set, frozenset)):
        return len(left) == len(right) and all(any(same(one, other) for other in right) for one in left)
    if isinstance(left, float) and type(left) is float:
        return math.copysign(1, left) == math.copysign(1, right) and (left == right or left != left)
    if isinstance(left, np.ndarray) and left.dtype == object:
        return left.shape == right.shape and same(left.reshape(-1).tolist(), right.reshape(-1).tolist())
    if isinstance(left, (np.ndarray, np.generic)) and not isinstance(left, (str, bytes)):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    return equal(left, right)
