"""The safetensors file itself: written by the library, read range by range.

Reading does not map the file into memory, as the library would: a mapped file that somebody cuts off ends the process,
and nobody could verify a range before it is used. So the header is read here, by the rules of the format: the entries
follow one another without a gap, and each is as long as its dtype and shape say.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np
from pydantic import Field, TypeAdapter
from safetensors import TensorSpec, serialize_file

from batchpact.dataproto.files.arrays import Flat
from batchpact.dataproto.files.blocks import BLOCK, verify
from batchpact.dataproto.files.broken import Broken, broken_by
from batchpact.dataproto.files.dtypes import ITEM_BYTES, NAMES, Shape
from batchpact.schemas.record import Record

Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]

_LENGTH = 8
_METADATA = "__metadata__"
_HEADER_LIMIT = 2**24


class Piece(NamedTuple):
    """A part of a field as it stands in the file.

    Attributes:
        dtype: safetensors' name.
        shape: its sizes.
        data: its bytes.
    """

    dtype: str
    shape: Shape
    data: Flat


class Entry(Record):
    """What the safetensors header says of an entry."""

    dtype: str
    shape: Annotated[list[Count], Field(max_length=64)]
    data_offsets: Annotated[list[Count], Field(min_length=2, max_length=2)]


_ENTRIES = TypeAdapter(dict[str, Entry])
_TEXTS = TypeAdapter(dict[str, str])


# --- writing ----------------------------------------------------------------------------------------------------------


def write(path: Path, pieces: Mapping[str, Piece], metadata: dict[str, str]) -> None:
    """Write a file beside the old one and put it in its place: whatever fails, the old one is whole.

    Args:
        path: the file.
        pieces: its entries by name; their bytes go into the file from where they are.
        metadata: its texts by name.

    Raises:
        OSError: as the operating system says.
        SafetensorError: where the library cannot write; the operating system's words are in it.
        Broken: if nobody could read it.
    """
    specs = {
        name: TensorSpec(
            dtype=NAMES[piece.dtype],
            shape=list(piece.shape),
            data_ptr=piece.data.ctypes.data,
            data_len=len(piece.data),
        )
        for name, piece in pieces.items()
    }
    with _in_place_of(path) as beside:
        serialize_file(specs, beside, metadata)
        with FileIO(beside) as written:
            Archive(written)  # what cannot be read does not take the place of what can


@contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    """A new file that takes the place of another once the block has written it; if it fails, nothing is left of it."""
    beside = path.with_name(f".{uuid4().hex}.tmp")
    try:
        beside.touch()
        mode = stat.S_IMODE((path if path.exists() else beside).stat().st_mode)
        yield beside
        beside.chmod(mode)  # the library makes files that nobody else may read
        _to_disk(beside, os.O_RDWR)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _to_disk(path.parent, os.O_RDONLY)


def _to_disk(path: Path, flags: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# --- reading ----------------------------------------------------------------------------------------------------------


class Archive:
    """An open safetensors file.

    Attributes:
        metadata: its texts by name.
        entries: its entries by name, in the order of their bytes.
    """

    def __init__(self, file: FileIO) -> None:
        """Read the header.

        Raises:
            Broken: if this is no safetensors file, or one that is cut off or has more in it than its entries.
        """
        self._file = file
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(self._bytes(0, min(size, _LENGTH)), "little")
        if not 2 <= length <= size - _LENGTH:
            raise Broken("no safetensors file, or one that is cut off", "a file that save_to_disk wrote")
        if length > header_limit(size):
            raise Broken(f"a header of {length} bytes", f"at most {header_limit(size)} in a file of {size} bytes")
        self.metadata, self.entries = _header(self._bytes(_LENGTH, length))
        self._start = _LENGTH + length
        stop = 0
        for name, entry in self.entries.items():
            start, end = entry.data_offsets
            width = ITEM_BYTES.get(entry.dtype)
            if width is None or start != stop or math.prod(entry.shape) * width != end - start:
                raise Broken(f"entry {name[:80]!r}, bytes {start} to {end}", "entries of known size, without a gap")
            stop = end
        if self._start + stop != size:
            raise Broken(f"a file of {size} bytes", f"{self._start + stop}, as its header says")

    def read(self, name: str, start: int, stop: int, checksums: str) -> Flat:
        """A range of the bytes of an entry, verified, in memory of its own; only the blocks that it lies in are read.

        Raises:
            Broken: if a block does not have its checksum.
        """
        entry_start, entry_stop = self.entries[name].data_offsets
        found: Flat = np.empty(stop - start, dtype=np.uint8)
        for number in range(start // BLOCK, -(-stop // BLOCK) if stop > start else 0):
            first, last = number * BLOCK, min((number + 1) * BLOCK, entry_stop - entry_start)
            wanted = found.data[max(first - start, 0) : last - start]
            whole = len(wanted) == last - first
            block = wanted if whole else memoryview(bytearray(last - first))
            self._fill(self._start + entry_start + first, block)
            if not verify(block, number, checksums):
                raise Broken(f"block {number} of {name.split('/')[0]} does not have its checksum")
            if not whole:
                begin = max(start - first, 0)
                wanted[:] = block[begin : begin + len(wanted)]
        return found

    def _bytes(self, start: int, size: int) -> bytearray:
        found = bytearray(size)
        self._fill(start, memoryview(found))
        return found

    def _fill(self, start: int, view: memoryview) -> None:
        self._file.seek(start)
        while len(view):
            read = self._file.readinto(view)
            if not read:
                raise Broken("a file that has become shorter while it was read")
            view = view[read:]


def header_limit(size: int) -> int:
    """How long the header of a file of this size may be: what it says takes many times its bytes once it is read."""
    return _HEADER_LIMIT + size // 2**12


def _header(text: bytearray) -> tuple[dict[str, str], dict[str, Entry]]:
    try:
        held = json.loads(text.decode(), object_pairs_hook=_unique)
        if not isinstance(held, dict):
            raise Broken("a header that is no object")
        metadata = _TEXTS.validate_python(held.pop(_METADATA, {}), strict=True)
        entries = _ENTRIES.validate_python(held, strict=True)
    except (ValueError, RecursionError) as error:
        broken_by(error, "a header that cannot be read")
    return metadata, dict(sorted(entries.items(), key=lambda item: item[1].data_offsets))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Broken("a header that says something twice")
    return made
