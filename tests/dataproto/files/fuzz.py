"""Mutated files: each gives one clear error or the right data, and nothing else.

    python -m tests.dataproto.files.fuzz 50000 [seed]

Blind mutations change bytes of a file; then what is loaded has to be what was saved, or refused. Sealed ones change
what a file says and give it right checksums, as somebody would who means harm; then what is loaded has to be a whole
batch, or refused. All of it runs under a limit of memory and time; no module may be imported, and no pickle read.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchError
from tests.dataproto.files.mutations import BLIND, SEALED
from tests.dataproto.files.samples import Trap, every_kind, marked
from tests.dataproto.support import plain

MEMORY = 64 * 2**20
"""So much more memory than before may be in use; the files are 3 MB at most."""
SECONDS = 10
"""So long may one file take."""


def files() -> dict[str, tuple[bytes, DataProto]]:
    """Real files, with the batches that are in them."""
    blocks = DataProto.from_dict(
        {"big": every_kind().batch["i64"].repeat(1)[:, None].expand(5, 70_000)}, {"c": ["x"] * 5}
    )
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
        lines = [
            f"{kind:<20} {self.counts[kind, 'refused']:>7} refused {self.counts[kind, 'read']:>7} read"
            for kind in kinds
        ]
        return "\n".join(
            [
                *lines,
                f"{len(self.failures)} failures, slowest {self.slowest:.2f} s, memory grew by {self.growth >> 20} MB",
            ]
        )


def run(path: Path, count: int, seed: int = 0) -> Tally:
    """Mutate files so many times, and load what comes of it, whole or in part."""
    warnings.simplefilter("ignore")
    tally = Tally()
    with suppress(ImportError):
        import PIL.Image  # noqa: F401  # a file that has an image in it imports it
    originals = files()
    for name, (data, batch) in originals.items():  # what is imported on the way is imported now
        if name != "pickled":
            loaded, rows = _load(path, data, random.Random(0))
            _check(loaded, batch[rows])
    before, modules = _memory(), set(sys.modules)
    resource.setrlimit(resource.RLIMIT_AS, (before + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, _too_long)
    small = [name for name in originals if name != "several blocks"]
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        name = "several blocks" if number % 50 == 0 else rng.choice(small)
        data, batch = originals[name]
        mutation = rng.choice(BLIND if rng.random() < 0.5 else SEALED if name != "no fields" else SEALED[:1])
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
    """What was loaded is what is expected; or, where nothing is, a whole batch, of which everything can be seen."""
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
