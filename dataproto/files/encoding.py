"""Values as data: what a cell or a meta value is made of, in the forms of `forms.py`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from typing import Any, Literal, TypeAlias

import numpy as np
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.files import forms, images
from batchpact.dataproto.files.arrays import flat_array, flat_tensor, odd_tensor
from batchpact.dataproto.files.dtypes import plain_numpy
from batchpact.dataproto.preview import preview
from batchpact.dataproto.rows import Rows
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.dtypes import dtype_name

DEPTH = 100
"""So many containers may stand in each other."""

_INTS = -(2**63), 2**64 - 1
_FREE = frozenset((type(None), bool, float))
_TIMES: dict[type, Literal["date", "time", "datetime"]] = {
    datetime.date: "date",
    datetime.time: "time",
    datetime.datetime: "datetime",
}
_CONTAINERS: dict[type, Callable[[list[forms.Node]], forms.Node]] = {
    list: forms.List,
    tuple: forms.Tuple,
    set: forms.Set,
    frozenset: forms.FrozenSet,
}

PlaceOf: TypeAlias = Callable[[int], str]


class Unencodable(Exception):
    """A value that is not data.

    Attributes:
        what: what it is, in words.
        path: where in the cell it stands, as Python would reach it.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what, self.path = what, ""


def type_name(value: object) -> str:
    """The type of a value as one imports it."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


class Encoding:
    """Makes forms of values, one after the other; they share the memory of arrays and tensors."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def node(self, value: Any) -> forms.Node:
        """The form of a value.

        Raises:
            Unencodable: naming the first part that is not data.
        """
        kind = type(value)
        if kind in _FREE:
            return value  # type: ignore[no-any-return]
        if kind is str:
            return value if is_unicode(value) else forms.Surrogates(memoryview(value.encode("utf-8", "surrogatepass")))
        if kind is int:
            return value if _INTS[0] <= value <= _INTS[1] else _long(value)
        if kind in _CONTAINERS:
            return _CONTAINERS[kind](self._items(value, value, _element))
        if kind is dict:
            return self._dict(value)
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, np.generic):
            return _scalar(value)
        if isinstance(value, Tensor):
            return _tensor(value)
        if images.is_image(value):
            return self._image(value)
        return _small(value)

    def _items(self, values: Collection[object], holder: object, place: PlaceOf) -> list[forms.Node]:
        """The forms of what a container holds; `place` says how Python reaches the one at a position."""
        if _all_free(values):
            return list(values)  # type: ignore[arg-type]
        if id(holder) in self._open:
            raise Unencodable(f"{type_name(holder)} that holds itself")
        if len(self._open) >= DEPTH:
            raise Unencodable(f"{type_name(holder)} more than {DEPTH} levels deep")
        self._open.add(id(holder))
        nodes: list[forms.Node] = []
        try:
            for value in values:
                nodes.append(self.node(value))
        except Unencodable as found:
            found.path = f"{place(len(nodes))}{found.path}"
            raise
        finally:
            self._open.discard(id(holder))
        return nodes

    def _dict(self, value: dict[Any, Any]) -> forms.Node:
        held = self._items(value.values(), value, lambda at: f"[{preview(list(value)[at])}]")
        if all(type(key) is str and is_unicode(key) for key in value):
            return forms.Dict(dict(zip(value, held, strict=True)))
        keys = self._items(value.keys(), value, lambda at: f".keys()[{at}]")
        return forms.Pairs(list(zip(keys, held, strict=True)))

    def _array(self, value: np.ndarray) -> forms.Node:
        shape = list(value.shape)
        if value.dtype == object:
            return forms.Objects(shape, self._items(value.reshape(-1).tolist(), value, lambda at: f".flat[{at}]"))
        if not plain_numpy(value.dtype):
            raise Unencodable(f"numpy array of {value.dtype}")
        return forms.Array(value.dtype.str, shape, flat_array(value).data)

    def _image(self, value: Any) -> forms.Node:
        if value.mode not in images.PIXEL_BYTES or not all(value.size):
            raise Unencodable(f"PIL image of mode {value.mode}, {value.width} by {value.height}")
        try:
            info = self._dict(value.info)
        except Unencodable as found:
            found.path = f".info{found.path}"
            raise
        return forms.Image(value.mode, value.size, memoryview(value.tobytes()), info)


def _element(at: int) -> str:
    return f"[{at}]"


def is_unicode(text: str) -> bool:
    """Whether a text is valid Unicode; Python's may hold surrogates, which are half a character."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _all_free(values: Collection[Any]) -> bool:
    """Whether all of these stand for themselves; as fast as can be told, and so not true of every mixture."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return bool(_INTS[0] <= min(values) and max(values) <= _INTS[1])
    return kinds <= _FREE or (kinds == {str} and all(map(str.isascii, values)))


def _long(value: int) -> forms.LongInt:
    return forms.LongInt(memoryview(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)))


def _scalar(value: np.generic) -> forms.Scalar:
    if type(value) is not value.dtype.type:  # a class of somebody's own
        raise Unencodable(type_name(value))
    if isinstance(value, np.str_):
        return forms.Scalar("U", memoryview(value.encode("utf-8", "surrogatepass")))
    if isinstance(value, np.bytes_):
        return forms.Scalar("S", memoryview(bytes(value)))
    if not plain_numpy(value.dtype):
        raise Unencodable(type_name(value))
    return forms.Scalar(value.dtype.str, memoryview(value.tobytes()))


def _tensor(value: Tensor) -> forms.Node:
    odd = odd_tensor(value)
    if odd is not None:
        raise Unencodable(odd)
    if is_jagged(value):
        values, offsets, axis = nested.parts(nested.take(value.detach(), Rows.span(0, len(value))))
        return forms.Jagged(_dense(values), _dense(offsets), axis)
    if value.is_nested:
        return forms.Strided(dtype_name(value.dtype), [_dense(row) for row in value.detach().unbind(0)])
    return _dense(value)


def _dense(value: Tensor) -> forms.Dense:
    return forms.Dense(dtype_name(value.dtype), list(value.shape), flat_tensor(value).data)


def _small(value: Any) -> forms.Node:
    """What has no parts and is rare."""
    kind = type(value)
    if kind is bytes:
        return forms.Bytes(memoryview(value))
    if kind is complex:
        return forms.Complex(value.real, value.imag)
    if kind is datetime.timedelta:
        return forms.Duration(value.days, value.seconds, value.microseconds)
    if kind in _TIMES:
        # A time zone by name is not in the text, nor is the second of two equal hours when the clock goes back.
        if repr(kind.fromisoformat(value.isoformat())) != repr(value):
            raise Unencodable(f"{type_name(value)} that its ISO 8601 text does not say wholly")
        return forms.Time(_TIMES[kind], value.isoformat())
    raise Unencodable(type_name(value))
