"""The forms in which values stand in a file: the cells of object columns, and meta.

`None`, bool, int, float and str stand for themselves. Every other value is an array that begins with the name of its
form. msgspec writes and reads them as msgpack, and refuses whatever is in no such form; reading them makes nothing but
these plain structures.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder


class LongInt(Struct, array_like=True, forbid_unknown_fields=True, tag="int"):
    """An int beyond 64 bits: two's complement, little-endian."""

    data: memoryview


class Complex(Struct, array_like=True, forbid_unknown_fields=True, tag="complex"):
    """A complex number."""

    real: float
    imag: float


class Surrogates(Struct, array_like=True, forbid_unknown_fields=True, tag="str"):
    """Text that is no valid Unicode: UTF-8 in which surrogates stand like characters."""

    data: memoryview


class Bytes(Struct, array_like=True, forbid_unknown_fields=True, tag="bytes"):
    """Bytes."""

    data: memoryview


class List(Struct, array_like=True, forbid_unknown_fields=True, tag="list"):
    """A list."""

    items: list[Node]


class Tuple(Struct, array_like=True, forbid_unknown_fields=True, tag="tuple"):
    """A tuple."""

    items: list[Node]


class Set(Struct, array_like=True, forbid_unknown_fields=True, tag="set"):
    """A set."""

    items: list[Node]


class FrozenSet(Struct, array_like=True, forbid_unknown_fields=True, tag="frozenset"):
    """A frozenset."""

    items: list[Node]


class Dict(Struct, array_like=True, forbid_unknown_fields=True, tag="dict"):
    """A dict whose keys are text, in its order."""

    items: dict[str, Node]


class Pairs(Struct, array_like=True, forbid_unknown_fields=True, tag="pairs"):
    """A dict with other keys, in its order."""

    items: list[tuple[Node, Node]]


class Time(Struct, array_like=True, forbid_unknown_fields=True, tag="time"):
    """A date, a time or both, as ISO 8601."""

    kind: Literal["date", "time", "datetime"]
    text: str


class Duration(Struct, array_like=True, forbid_unknown_fields=True, tag="timedelta"):
    """A time difference."""

    days: int
    seconds: int
    microseconds: int


class Array(Struct, array_like=True, forbid_unknown_fields=True, tag="array"):
    """A numpy array: numpy's string for its dtype, its shape, its bytes in C order."""

    dtype: str
    shape: list[int]
    data: memoryview


class Objects(Struct, array_like=True, forbid_unknown_fields=True, tag="objects"):
    """A numpy array of objects, in C order."""

    shape: list[int]
    items: list[Node]


class Scalar(Struct, array_like=True, forbid_unknown_fields=True, tag="scalar"):
    """A numpy scalar; of a text or bytes without their padding, numpy's dtype is `U` or `S`."""

    dtype: str
    data: memoryview


class Dense(Struct, array_like=True, forbid_unknown_fields=True, tag="tensor"):
    """A dense tensor: torch's name for its dtype, its shape, its bytes in C order."""

    dtype: str
    shape: list[int]
    data: memoryview


class Jagged(Struct, array_like=True, forbid_unknown_fields=True, tag="jagged"):
    """A jagged nested tensor: its values, where in them the rows start and end, and which of their axes is ragged."""

    values: Dense
    offsets: Dense
    axis: int


class Strided(Struct, array_like=True, forbid_unknown_fields=True, tag="strided"):
    """A strided nested tensor, row by row."""

    dtype: str
    rows: list[Dense]


class Image(Struct, array_like=True, forbid_unknown_fields=True, tag="image"):
    """A PIL image: its mode, width and height, its pixels, and what else it says of itself."""

    mode: str
    size: tuple[int, int]
    data: memoryview
    info: Node


class Pickled(Struct, array_like=True, forbid_unknown_fields=True, tag="pickle"):
    """Whatever else it is. It is written and read only where that is asked for."""

    data: memoryview


Node: TypeAlias = (
    bool
    | int
    | float
    | str
    | LongInt
    | Complex
    | Surrogates
    | Bytes
    | List
    | Tuple
    | Set
    | FrozenSet
    | Dict
    | Pairs
    | Time
    | Duration
    | Array
    | Objects
    | Scalar
    | Dense
    | Jagged
    | Strided
    | Image
    | Pickled
    | None
)
"""Every form; a class may name it before it is there, as msgspec looks it up when `READER` is made."""

WRITER = Encoder()
READER: Decoder[Node] = Decoder(Node)
