"""Mutated files: each gives one clear error or the right data, and nothing else.

    python -m tests.dataproto.files.fuzz 50000 [seed]

Blind mutations change bytes of a file; then what is loaded has to be what was saved, or refused. Sealed ones change what
a file says and give it right checksums, as somebody would who means harm; then what is loaded has to be a whole batch,
or refused. All of it runs under a limit of memory and time, and no module may be imported, no pickle read.
"""

from __future__ import annotations

import json
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchError
from tests.dataproto.files.samples import Trap, every_kind, marked
from tests.dataproto.files.sealing import outer_header, safetensors, take_apart
from tests.dataproto.support import plain

MEMORY = 64 * 2**20
"""So much more memory than before may be in use; the files are 3 MB at most."""
SECONDS = 10
"""So long may one file take."""

HOSTILE: list[Any] = [
    *(0, 1, -1, 2, 7, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 1.5, 1e308, float("nan"), True, None, "", "x"),
    *("float32", "int64", "bool", "F32", "U8", "I64", "F4", "quint8", "<U99999999", "|O", "objects", "jagged", "dense"),
    *("strided", "value", "tensor", "meta", "\ud800", "a" * 1000, [], {}, [[]], [0, 0], [2**40, 2**40], [2**62, 0], [-1]),
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
    """Anywhere, but one time in two in the header: files are mostly data."""
    stop = 8 + int.from_bytes(data[:8], "little")
    return rng.randrange(min(stop, len(data))) if rng.random() < 0.5 else rng.randrange(len(data))


# --- mutations of what a file says, with right checksums --------------------------------------------------------------


def other_header(rng: random.Random, data: bytes) -> bytes:
    parts = take_apart(data)
    for _ in range(rng.choice([1, 1, 2])):
        _mutate(rng, parts.header)
    return parts.seal() if rng.random() < 0.8 else parts.seal_header(_json(rng, parts.header))


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
            new = rng.choice([rng.randbytes(1), b"\xff" * 8, bytes(8), b"\xdd\xff\xff\xff\xff", b"\x91" * 200, b"\x92\xa4list"])
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
            numbers = [0, *[len(blob)] * cells] if rng.random() < 0.5 else [len(blob) * n // max(cells, 1) for n in range(cells + 1)]
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
    b"\x94\xa6jagged\x94\xa6tensor\xa5int64\x91\x01\xc4\x08" + bytes(8) + b"\x94\xa6tensor\xa5int64\x91\x01\xc4\x08" + b"\xff" * 8 + b"\x00",
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
        holder[key] = rng.choice(HOSTILE)
    elif kind < 0.65 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] += rng.choice([1, -1, 8, 2**20, -(2**20)])
    elif kind < 0.8:
        other, other_key = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[other_key]))
    elif kind < 0.9:
        del holder[key]
    elif isinstance(holder, dict):
        holder[rng.choice(["x", "data", "filled", "index", "offsets", "pads", str(key) + "x"])] = holder.pop(key)
    else:
        holder.insert(key, holder[key])


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


# --- running them -----------------------------------------------------------------------------------------------------


def files() -> dict[str, tuple[bytes, DataProto]]:
    """Real files, with the batches that are in them."""
    blocks = DataProto.from_dict({"big": every_kind().batch["i64"].repeat(1)[:, None].expand(5, 70_000)}, {"c": ["x"] * 5})
    batches = {
        "every kind": every_kind(),
        "one row": every_kind(1),
        "no rows": every_kind(0),
        "marked": marked(),
        "no fields": DataProto(),
        "several blocks": blocks,
    }
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch"
        for name, batch in batches.items():
            batch.save_to_disk(path)
            made[name] = path.read_bytes(), batch
        trapped = DataProto.from_dict(None, {"trap": column([Trap(), 1])}, {"n": 1})
        trapped.save_to_disk(path, allow_pickle=True)
        made["pickled"] = path.read_bytes(), DataProto()
    return made


class Tally:
    """What became of the mutations, by their kind; and those that did neither of what they may."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0
        self.growth = 0

    def __str__(self) -> str:
        kinds = dict.fromkeys(kind for kind, _ in self.counts)
        lines = [f"{kind:<20} {self.counts[kind, 'refused']:>7} refused {self.counts[kind, 'read']:>7} read" for kind in kinds]
        return "\n".join(
            [*lines, f"{len(self.failures)} failures, slowest {self.slowest:.2f} s, memory grew by {self.growth >> 20} MB"]
        )


def run(path: Path, count: int, seed: int = 0) -> Tally:
    """Mutate files so many times, and load what comes of it, whole or in part."""
    warnings.simplefilter("ignore")
    tally = Tally()
    originals = files()
    for data, _ in originals.values():
        _load(path, data, random.Random(0))  # what is imported on the way is imported now
    before, modules = _memory(), set(sys.modules)
    resource.setrlimit(resource.RLIMIT_AS, (before + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, _too_long)
    small = [name for name in originals if name != "several blocks"]
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        name = "several blocks" if number % 50 == 0 else rng.choice(small)
        data, batch = originals[name]
        mutation = rng.choice(BLIND if rng.random() < 0.5 else SEALED)
        mutated = mutation(rng, data)
        started = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            loaded, rows = _load(path, mutated, rng)
            _check(loaded, batch[rows] if mutation in BLIND and name != "pickled" else None)
            outcome = "read"
        except BatchError as error:
            outcome = "refused"
            if not str(error) or "allocate" in str(error):
                tally.failures.append(f"{seed}/{number} {mutation.__name__} of {name}: {error}")
        except BaseException:
            outcome = "failed"
            tally.failures.append(f"{seed}/{number} {mutation.__name__} of {name}:\n{traceback.format_exc(limit=-8)}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        tally.slowest = max(tally.slowest, time.perf_counter() - started)
        tally.counts[mutation.__name__, outcome] += 1
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tally.growth = _memory() - before
    if set(sys.modules) - modules:
        tally.failures.append(f"imported: {sorted(set(sys.modules) - modules)}")
    if Trap.sprung:
        tally.failures.append("a pickle was read")
    return tally


def _load(path: Path, data: bytes, rng: random.Random) -> tuple[DataProto, slice]:
    """The batch in a file of these bytes, or some rows of it."""
    rows = slice(None) if rng.random() < 0.7 else slice(1, 3)
    path.write_bytes(data)
    return DataProto.load_from_disk(path, rows=rows if rows.start else None), rows


def _check(loaded: DataProto, expected: DataProto | None) -> None:
    """What was loaded is the batch that is expected; or, where none is, a whole one, of which everything can be seen."""
    loaded.check_consistency()
    seen = plain(loaded)
    if expected is None:
        return
    if loaded != expected or seen != plain(expected):
        raise AssertionError("other data was loaded")
    for mine, theirs in ((loaded._marks.pads, expected._marks.pads), *_absent(loaded, expected)):
        if (mine is None) != (theirs is None) or (mine is not None and mine.tolist() != theirs.tolist()):
            raise AssertionError("other marks were loaded")


def _absent(loaded: DataProto, expected: DataProto) -> list[tuple[Any, Any]]:
    keys = {*loaded._marks.absent, *expected._marks.absent}
    return [(loaded._marks.absent.get(key), expected._marks.absent.get(key)) for key in keys]


def _memory() -> int:
    """The address space of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _too_long(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        _started = time.perf_counter()
        _tally = run(Path(_folder) / "mutated", *map(int, sys.argv[1:]))
        print(_tally)
        print(f"{sum(_tally.counts.values())} files in {time.perf_counter() - _started:.0f} s")
        print("\n".join(_tally.failures[:20]))
        sys.exit(bool(_tally.failures))
