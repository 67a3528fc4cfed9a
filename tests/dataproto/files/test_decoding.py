"""What is in no form of ours is refused, whatever it claims to be; nothing but plain values is ever made."""

from __future__ import annotations

from typing import Any

import pytest

from batchpact.dataproto.files import forms
from batchpact.dataproto.files.broken import Broken
from tests.dataproto.files.values import read


def array(dtype: str, shape: list[int], data: bytes) -> bytes:
    return forms.WRITER.encode(forms.Array(dtype, shape, memoryview(data)))


def tensor(dtype: str, shape: list[int], data: bytes) -> forms.Dense:
    return forms.Dense(dtype, shape, memoryview(data))


def node(value: Any) -> bytes:
    return forms.WRITER.encode(value)


def jagged(size: int, offsets: forms.Dense, axis: int = 0) -> bytes:
    return node(forms.Jagged(tensor("bool", [size], bytes(size)), offsets, axis))


def image(mode: str, size: tuple[int, int], data: bytes, info: Any = None) -> bytes:
    return node(forms.Image(mode, size, memoryview(data), info or forms.Dict({})))


NO_FORM = "no data in the form that save_to_disk writes: "
MALFORMED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", f"{NO_FORM}Input data was truncated"),
    "more": (b"\x01\x02", f"{NO_FORM}MessagePack data is malformed: trailing characters (byte 1)"),
    "a map": (b"\x80", f"{NO_FORM}Expected `bool | int | float | str | array | null`, got `object`"),
    "an array": (b"\x90", f"{NO_FORM}Expected `array` of at least length 1, got 0"),
    "an unknown form": (b"\x91\xa1x", f"{NO_FORM}Invalid value 'x' - at `$[0]`"),
    "an extension": (b"\xd6\xff" + bytes(4), f"{NO_FORM}Expected `bool | int | float | str | array | null`, got `ext`"),
    "a huge list": (b"\x92\xa4list\xdd\xff\xff\xff\xff", f"{NO_FORM}Input data was truncated"),
    "huge bytes": (b"\x92\xa5bytes\xc6\xff\xff\xff\xff", f"{NO_FORM}Input data was truncated"),
    "deeper than Python": (
        b"\x92\xa4list\x91" * 100_000,
        f"{NO_FORM}maximum recursion depth exceeded while deserializing an object",
    ),
    "too deep": (b"\x92\xa4list\x91" * 102 + b"\xc0", "data more than 100 levels deep"),
    "a key": (b"\x92\xa4dict\x81\x01\x02", f"{NO_FORM}Expected `str`, got `int` - at `key` in `$[1]`"),
    "a list as a key": (b"\x92\xa3set\x91\x92\xa4list\x90", f"{NO_FORM}unhashable type: 'list'"),
    "no text": (b"\xa1\xff", f"{NO_FORM}Invalid UTF-8 encoded string"),
    "objects": (array("|O", [1], bytes(8)), "dtype '|O'"),
    "a structure": (array("i4,i4", [1], bytes(8)), "dtype 'i4,i4'"),
    "no element": (array("<U0", [2**40], b""), "dtype '<U0'"),
    "a huge element": (array("<U999999999", [1], b""), "dtype '<U999999999'"),
    "an alias": (array("<i", [1], bytes(4)), "dtype '<i'"),
    "huge": (array("<f4", [2**62], b""), "0 bytes"),
    "huge twice": (array("<f4", [2**62, 2**62, 0], b""), NO_FORM),
    "negative": (array("<f4", [-1], b""), "0 bytes"),
    "many axes": (array("<f4", [1] * 33, bytes(4)), "4 bytes"),
    "no booleans": (array("|b1", [2], b"\x01\x02"), "bytes that are neither 0 nor 1"),
    "no characters": (array(">U1", [1], b"\x00\x11\x00\x00"), "numbers that are no characters"),
    "no boolean tensor": (node(tensor("bool", [1], b"\x02")), "bytes that are neither 0 nor 1"),
    "a quantized tensor": (node(tensor("qint8", [1], b"\x02")), "dtype 'qint8'"),
    "a module": (node(tensor("nn", [1], b"\x02")), "dtype 'nn'"),
    "an alias of a dtype": (node(tensor("half", [1], b"\x02\x02")), "dtype 'half'"),
    "offsets": (
        node(forms.Jagged(tensor("bool", [2], bytes(2)), tensor("int64", [1], b"\x05" + bytes(7)), 0)),
        "offsets that",
    ),
    "no offsets": (
        node(forms.Jagged(tensor("bool", [2], bytes(2)), tensor("bool", [2], bytes(2)), 0)),
        "offsets bool[2] on",
    ),
    "axis": (
        node(forms.Jagged(tensor("bool", [0], b""), tensor("int64", [1], bytes(8)), 1)),
        "offsets i64[1] on axis 1",
    ),
    "strided": (node(forms.Strided("float32", [tensor("bool", [], b"\x00"), tensor("bool", [1], b"\x00")])), NO_FORM),
    "objects shape": (node(forms.Objects([-1], [1])), "an array of shape [-1]"),
    "objects size": (node(forms.Objects([2**62], [1])), NO_FORM),
    "a date": (node(forms.Time("date", "yesterday")), f"{NO_FORM}Invalid isoformat string: 'yesterday'"),
    "a duration": (node(forms.Duration(2**62, 0, 0)), NO_FORM),
    "surrogates": (node(forms.Surrogates(memoryview(b"\xff"))), f"{NO_FORM}'utf-8' codec can't decode byte"),
    "a scalar": (node(forms.Scalar("<f4", memoryview(b"\x00"))), "1 byte"),
    "an image": (node(forms.Image("RGB", (2**31, 2**31), memoryview(b""), forms.Dict({}))), "0 bytes as an image of"),
    "no pixel": (node(forms.Image("L", (0, 2**31), memoryview(b""), forms.Dict({}))), "0 bytes as an image of 0 by"),
    "an unknown mode": (
        node(forms.Image("P", (1, 1), memoryview(b"x"), forms.Dict({}))),
        "1 bytes as an image of 1 by",
    ),
    "info": (node(forms.Image("L", (1, 1), memoryview(b"x"), forms.List([]))), "1 bytes as an image of 1 by 1"),
    "a pickle": (node(forms.Pickled(memoryview(b"x"))), "pickled objects, which can run any code when they are read"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_in_no_such_form_is_broken(name: str) -> None:
    data, what = MALFORMED[name]

    with pytest.raises(Broken) as caught:
        read(data)
    assert caught.value.actual.startswith(what)


def test_keys_that_collide_are_no_way_to_keep_somebody_busy() -> None:
    """Tuples whose hashes are equal by construction: Python would compare each of them with all the others."""
    numbers = [2.0 ** (61 * exponent) for exponent in range(-16, 16)]
    keys: list[Any] = [forms.Tuple([one, other]) for one in numbers for other in numbers]
    assert len({hash((one, other)) for one in numbers for other in numbers}) == 1

    with pytest.raises(Broken, match=r"^\('more than 100 keys of one hash', "):
        read(node(forms.Set(keys)))
    with pytest.raises(Broken, match=r"^\('more than 100 keys of one hash', "):
        read(node(forms.Pairs([(key, 1) for key in keys])))
    assert read(node(forms.Set([*numbers]))) == {*numbers}
