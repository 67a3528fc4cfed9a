"""Mutations of files: of their bytes, and of what they say, with right checksums."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.dataproto.files.samples import Trap
from tests.dataproto.files.sealing import outer_header, safetensors, take_apart

HOSTILE: list[Any] = [
    *(
        0,
        1,
        -1,
        2,
        7,
        2**31,
        2**32,
        2**53,
        2**63 - 1,
        2**63,
        2**64,
        10**30,
        1.5,
        1e308,
        float("nan"),
        True,
        None,
        "",
        "x",
    ),
    *("float32", "int64", "bool", "F32", "U8", "I64", "F4", "quint8", "<U99999999", "|O", "objects", "jagged", "dense"),
    *(
        "strided",
        "value",
        "tensor",
        "meta",
        "\ud800",
        "a" * 1000,
        [],
        {},
        [[]],
        [0, 0],
        [2**40, 2**40],
        [2**62, 0],
        [-1],
    ),
    *([None], [5, None], {"data": {}}, "data/ids", "../../x", "__metadata__"),
]

Mutation = Callable[[random.Random, bytes], bytes]


# --- mutations of bytes -----------------------------------------------------------------------------------------------


def cut_off(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice([rng.randrange(len(data)), rng.randrange(min(len(data), 20)), len(data) - 1])]


def lengthened(rng: random.Random, data: bytes) -> bytes:
    return data + rng.randbytes(rng.choice([1, 8, 1000]))


def bits_flipped(rng: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 3, 20])):
        made[_place(rng, data)] ^= 1 << rng.randrange(8)
    return bytes(made)


def overwritten(rng: random.Random, data: bytes) -> bytes:
    start, size = _place(rng, data), rng.choice([1, 2, 8, 100])
    new = rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size, b"9" * size, b'"' * size])
    return data[:start] + new + data[start + size :]


def removed(rng: random.Random, data: bytes) -> bytes:
    start = _place(rng, data)
    return data[:start] + data[start + rng.choice([1, 2, 8, 100]) :]


def inserted(rng: random.Random, data: bytes) -> bytes:
    start = _place(rng, data)
    return data[:start] + rng.choice([rng.randbytes(8), b"0", b"\x00", data[start : start + 50]]) + data[start:]


def swapped(rng: random.Random, data: bytes) -> bytes:
    a, b = sorted((_place(rng, data), _place(rng, data)))
    size = min(rng.choice([1, 8, 64]), b - a, len(data) - b)
    return data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]


def other_length(rng: random.Random, data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    new = rng.choice([0, 1, 2, length - 1, length + 1, len(data), len(data) - 8, 2**24 + 1, 2**31, 2**63, 2**64 - 1])
    return (new % 2**64).to_bytes(8, "little") + data[8:]


def other_outer_header(rng: random.Random, data: bytes) -> bytes:
    """The header of safetensors says something else; nothing is sealed anew."""
    listed, start = outer_header(data)
    _mutate(rng, listed)
    return safetensors(_json(rng, listed), data[start:])


def _place(rng: random.Random, data: bytes) -> int:
    """In the header as often as behind it: small files are mostly header, and large ones data."""
    stop = 8 + int.from_bytes(data[:8], "little")
    return rng.randrange(stop) if rng.random() < 0.5 or stop == len(data) else rng.randrange(stop, len(data))


# --- mutations of what a file says, with right checksums --------------------------------------------------------------


def other_header(rng: random.Random, data: bytes) -> bytes:
    parts = take_apart(data)
    for _ in range(rng.choice([1, 1, 2])):
        _mutate(rng, parts.header)
    return parts.seal_header(_json(rng, parts.header))


def other_shapes(rng: random.Random, data: bytes) -> bytes:
    """A piece has another dtype or shape, in both headers."""
    parts = take_apart(data)
    name = rng.choice(list(parts.entries))
    entry = parts.entries[name]
    if rng.random() < 0.5:
        shape = [*entry.shape]
        shape[rng.randrange(len(shape))] = rng.choice([0, 1, 2, 3, 2**40, len(entry.data)])
        parts.replace(name, entry.data, shape=shape)
    else:
        parts.replace(name, entry.data, dtype=rng.choice(["U8", "I64", "F32", "BOOL", "BF16", "X"]))
    return parts.seal()


def other_data(rng: random.Random, data: bytes) -> bytes:
    """The bytes of a piece are others: cells, offsets, numbers, marks."""
    parts = take_apart(data)
    name = rng.choice([name for name in parts.entries if not name.startswith("data/")] or list(parts.entries))
    entry = parts.entries[name]
    if entry.data:
        made = bytearray(entry.data)
        for _ in range(rng.choice([1, 1, 2, 10])):
            start = rng.randrange(len(made))
            new = rng.choice(
                [rng.randbytes(1), b"\xff" * 8, bytes(8), b"\xdd\xff\xff\xff\xff", b"\x91" * 200, b"\x92\xa4list"]
            )
            made[start : start + len(new)] = new[: len(made) - start]
        parts.replace(name, bytes(made))
    return parts.seal()


def other_cells(rng: random.Random, data: bytes) -> bytes:
    """A cell blob of another length: one cell that fills it, hostile or not."""
    parts = take_apart(data)
    names = [name for name in parts.entries if name.startswith("cells/")]
    if names:
        name = rng.choice(names)
        blob = rng.choice(CELLS)
        parts.replace(name, blob, shape=[len(blob)])
        ends = name.replace("cells/", "ends/")
        if ends in parts.entries:
            cells = parts.entries[ends].shape[0] - 1
            numbers = (
                [0, *[len(blob)] * cells]
                if rng.random() < 0.5
                else [len(blob) * n // max(cells, 1) for n in range(cells + 1)]
            )
            parts.replace(ends, b"".join(number.to_bytes(8, "little") for number in numbers))
    return parts.seal()


def _array(dtype: str, shape: bytes, data: bytes) -> bytes:
    return b"\x94\xa5array" + bytes([0xA0 + len(dtype)]) + dtype.encode() + shape + data


CELLS = [
    b"",
    b"\xc0",
    b"\xc1",
    b"\xc1" * 1000,
    b"\x92\xa4list\xdd\xff\xff\xff\xff",
    b"\x92\xa4list\xdd\x0f\xff\xff\xff" + b"\x00" * 1000,
    b"\x92\xa4list\x91" * 2000 + b"\xc0",
    b"\x92\xa5tuple\x91" * 150 + b"\xc0",
    b"\x92\xa4dict\xdf\xff\xff\xff\xff",
    b"\x92\xa4dict\x81\x01\x02",
    b"\x92\xa5pairs\x91\x92\x92\xa4list\x90\x01",
    b"\x92\xa3set\x91\x92\xa4list\x90",
    b"\x92\xa3int\xc6\xff\xff\xff\xff",
    b"\x92\xa3int\xc5\x10\x00" + b"\xff" * 4096,
    b"\x92\xa3str\xc4\x01\xff",
    _array("<f4", b"\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff", b"\xc4\x00"),
    _array("<f4", b"\x92\xcf\x40\x00\x00\x00\x00\x00\x00\x00\x00", b"\xc4\x00"),
    _array("|O", b"\x91\x01", b"\xc4\x08" + bytes(8)),
    _array("<U0", b"\x91\xce\xff\xff\xff\xff", b"\xc4\x00"),
    _array("<U1", b"\x91\x01", b"\xc4\x04\xff\xff\xff\xff"),
    _array("|b1", b"\x91\x01", b"\xc4\x01\x07"),
    _array("<f4", b"\x91\xd0\xff", b"\xc4\x00"),
    b"\x95\xa5image\xa3RGB\x92\xce\x7f\xff\xff\xff\x00\xc4\x00\x92\xa4dict\x80",
    b"\x95\xa5image\xa1L\x92\x01\x01\xc4\x01\x00\x01",
    b"\x93\xa4time\xa4date\xa1x",
    b"\x94\xa9timedelta\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00",
    b"\x94\xa6jagged\x94\xa6tensor\xa5int64\x91\x01\xc4\x08"
    + bytes(8)
    + b"\x94\xa6tensor\xa5int64\x91\x01\xc4\x08"
    + b"\xff" * 8
    + b"\x00",
    b"\x93\xa7strided\xa7float32\x91\x94\xa6tensor\xa5int64\x91\x01\xc4\x08" + bytes(8),
    b"\x93\xa7objects\x92\xcf\x40\x00\x00\x00\x00\x00\x00\x00\x00\x90",
    b"\x92\xa6pickle\xc4" + bytes([len(pickle.dumps(Trap()))]) + pickle.dumps(Trap()),
]


def _mutate(rng: random.Random, tree: Any) -> None:
    """Change one thing somewhere in what JSON can say."""
    places = list(_places(tree))
    holder, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.5:
        holder[key] = deepcopy(rng.choice(HOSTILE))
    elif kind < 0.65 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] += rng.choice([1, -1, 8, 2**20, -(2**20)])
    elif kind < 0.8:
        other, other_key = rng.choice(places)
        holder[key] = deepcopy(other[other_key])
    elif kind < 0.9:
        del holder[key]
    elif isinstance(holder, dict):
        holder[rng.choice(["x", "data", "filled", "index", "offsets", "pads", str(key) + "x"])] = holder.pop(key)
    else:
        holder.insert(key, deepcopy(holder[key]))


def _places(tree: Any) -> Any:
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _places(tree[key])


def _json(rng: random.Random, tree: Any) -> str:
    """As JSON, with the slips that JSON allows and does not allow."""
    text = json.dumps(tree)
    kind = rng.random()
    if kind < 0.1:
        return text[:-1] + ', "rows": 1}'
    if kind < 0.15:
        return text[:-1] + ', "deep": ' + "[" * 5000 + "]" * 5000 + "}"
    if kind < 0.2:
        return text[:-1] + ', "long": ' + "9" * 5000 + "}"
    return text


BLIND: tuple[Mutation, ...] = (
    *(cut_off, lengthened, bits_flipped, overwritten, removed, inserted, swapped, other_length, other_outer_header),
)
SEALED: tuple[Mutation, ...] = (other_header, other_shapes, other_data, other_cells)
