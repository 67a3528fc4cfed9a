"""Data as values: the forms of `forms.py` made into what they stand for. Nothing but plain values is ever made."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from msgspec import DecodeError
from torch import Tensor

from batchpact.dataproto.columns import column
from batchpact.dataproto.files import forms
from batchpact.dataproto.files.arrays import Flat, array_of, jagged_of, tensor_of
from batchpact.dataproto.files.broken import Broken, broken_by
from batchpact.dataproto.files.dtypes import torch_dtype
from batchpact.dataproto.files.encoding import DEPTH
from batchpact.dataproto.files.images import image_of
from batchpact.dataproto.files.pickled import unpickled

_FREE = frozenset((type(None), bool, int, float, str))
_TIMES: dict[str, type[datetime.date | datetime.time]] = {
    "date": datetime.date,
    "time": datetime.time,
    "datetime": datetime.datetime,
}
_ALIKE = 100


def decode(data: Flat, spans: Iterable[tuple[int, int]], *, allow_pickle: bool) -> list[object]:
    """The values that bytes are the forms of.

    Args:
        data: the bytes.
        spans: where in them each value starts and stops.
        allow_pickle: whether pickled objects are read, which runs what is in them.

    Raises:
        Broken: if some bytes are no such form, or hold a pickle that is not allowed.
    """
    decoding, view, found = _Decoding(allow_pickle), data.data, []
    try:
        for start, stop in spans:
            found.append(decoding.value(forms.READER.decode(view[start:stop]), 0))
    except Broken:
        raise
    except (DecodeError, RecursionError, ValueError, TypeError, OverflowError, RuntimeError) as error:
        # Of msgspec, where the form is wrong; or of Python, numpy and torch, where a value cannot be made of it.
        broken_by(error, "no data in the form that save_to_disk writes")
    return found


class _Decoding:
    def __init__(self, allow_pickle: bool) -> None:
        self._allow_pickle = allow_pickle

    def value(self, node: forms.Node, depth: int) -> object:
        if type(node) in _FREE:
            return node
        if depth > DEPTH:
            raise Broken(f"data more than {DEPTH} levels deep", "as deep as save_to_disk writes it")
        match node:
            case forms.Dict(items):
                return dict(zip(items, self._all(list(items.values()), depth), strict=True))
            case forms.List(items):
                return self._all(items, depth)
            case forms.Tuple(items):
                return tuple(self._all(items, depth))
            case forms.Pairs(items):
                keys, values = zip(*items, strict=True) if items else ((), ())
                return dict(zip(_keys(self._all(keys, depth)), self._all(values, depth), strict=True))
            case forms.Set(items):
                return set(_keys(self._all(items, depth)))
            case forms.FrozenSet(items):
                return frozenset(_keys(self._all(items, depth)))
            case forms.Objects(shape, items):
                return _reshaped(column(self._all(items, depth)), shape)
            case forms.Image(mode, size, data, info):
                return image_of(mode, size, data, self.value(info, depth))
            case forms.Pickled(data):
                return unpickled(data, self._allow_pickle)
        return _leaf(node)

    def _all(self, nodes: Sequence[forms.Node], depth: int) -> Sequence[object]:
        """The values of what a container at this depth holds."""
        if isinstance(nodes, list) and set(map(type, nodes)) <= _FREE:
            return nodes
        return [self.value(node, depth + 1) for node in nodes]


def _leaf(node: forms.Node) -> object:
    """The value of a form that holds no other values."""
    match node:
        case forms.Array(dtype, shape, data):
            return array_of(_own(data), dtype, shape)
        case forms.Dense():
            return _tensor(node)
        case forms.Scalar(dtype, data):
            return _scalar(dtype, data)
        case forms.Bytes(data):
            return bytes(data)
        case forms.Surrogates(data):
            return _text(data)
        case forms.LongInt(data):
            return int.from_bytes(data, "little", signed=True)
        case forms.Complex(real, imag):
            return complex(real, imag)
        case forms.Time(kind, text):
            return _TIMES[kind].fromisoformat(text)
        case forms.Duration(days, seconds, microseconds):
            return datetime.timedelta(days, seconds, microseconds)
        case forms.Jagged(values, offsets, axis):
            return jagged_of(_tensor(values), _tensor(offsets), axis)
        case forms.Strided(dtype, rows):
            return torch.nested.as_nested_tensor([_tensor(row) for row in rows], dtype=torch_dtype(dtype))
    raise Broken(f"data of an unknown form: {type(node).__name__}")


def _own(data: memoryview) -> Flat:
    """A copy: what was read shares the memory of the whole column, and cannot be written into."""
    flat: Flat = np.frombuffer(data, dtype=np.uint8).copy()
    return flat


def _tensor(node: forms.Dense) -> Tensor:
    return tensor_of(_own(node.data), node.dtype, node.shape)


def _scalar(dtype: str, data: memoryview) -> object:
    if dtype == "U":
        return np.str_(_text(data))
    return np.bytes_(bytes(data)) if dtype == "S" else array_of(_own(data), dtype, [1])[0]


def _text(data: memoryview) -> str:
    return str(data, "utf-8", "surrogatepass")


def _reshaped(cells: np.ndarray, shape: list[int]) -> np.ndarray:
    if min(shape, default=0) < 0:
        raise Broken(f"an array of shape {shape}", "sizes of 0 or more")
    return cells.reshape(tuple(shape))


def _keys(found: Sequence[Any]) -> Sequence[Any]:
    """Values that become the keys of a dict, or a set.

    Python compares each key with all others of the same hash, and hashes are easy to forge, but for those of text.
    """
    if len(found) - len({hash(key) for key in found}) > _ALIKE:
        raise Broken(f"more than {_ALIKE} keys of one hash", "keys that differ")
    return found
