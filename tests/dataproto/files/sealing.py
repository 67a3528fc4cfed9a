"""A saved file taken apart and put together again, with right checksums: a second reading of `docs/file-format.md`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from xxhash import xxh3_64_hexdigest

BLOCK = 2**20


@dataclass
class Entry:
    """An entry of a safetensors file."""

    dtype: str
    shape: list[int]
    data: bytes


@dataclass
class Parts:
    """A file: the texts in its metadata, what the header among them says, and its entries."""

    texts: dict[str, str]
    header: dict[str, Any]
    entries: dict[str, Entry]

    def field(self, key: str) -> dict[str, Any]:
        """What the header says of a field."""
        found: dict[str, Any] = next(field for field in self.header["fields"] if field["key"] == key)
        return found

    def pieces(self) -> dict[str, dict[str, Any]]:
        """What the header says of each entry."""
        fields = [field for field in self.header["fields"] if isinstance(field, dict)]
        found = {f"{role}/{field['key']}": piece for field in fields for role, piece in field["pieces"].items()}
        return found | ({"pads/": self.header["pads"]} if "pads" in self.header else {})

    def replace(self, name: str, data: bytes, *, shape: list[int] | None = None, dtype: str | None = None) -> None:
        """Give an entry other bytes, and say so in the header."""
        entry, piece = self.entries[name], self.pieces()[name]
        entry.data = data
        entry.shape = piece["shape"] = shape or entry.shape
        entry.dtype = piece["dtype"] = dtype or entry.dtype

    def seal(self) -> bytes:
        """The bytes of the file, with the checksums of what it holds now."""
        for name, piece in self.pieces().items():
            if isinstance(piece, dict) and name in self.entries:
                data = self.entries[name].data
                blocks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
                piece["checksums"] = "".join(map(xxh3_64_hexdigest, blocks))
        return self.seal_header(json.dumps(self.header))

    def seal_header(self, text: str) -> bytes:
        """The bytes of the file with this text as its header."""
        self.texts |= {"header": text, "checksum": xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))}
        listed: dict[str, Any] = {"__metadata__": self.texts}
        stop = 0
        for name, entry in self.entries.items():
            start, stop = stop, stop + len(entry.data)
            listed[name] = {"dtype": entry.dtype, "shape": entry.shape, "data_offsets": [start, stop]}
        return safetensors(json.dumps(listed), b"".join(entry.data for entry in self.entries.values()))


def take_apart(data: bytes) -> Parts:
    """The parts of a file."""
    listed, start = outer_header(data)
    texts = listed.pop("__metadata__")
    entries = {
        name: Entry(
            entry["dtype"], entry["shape"], data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]]
        )
        for name, entry in sorted(listed.items(), key=lambda item: item[1]["data_offsets"])
    }
    return Parts(texts, json.loads(texts["header"]), entries)


def outer_header(data: bytes) -> tuple[dict[str, Any], int]:
    """What a safetensors file says of its entries, and where their bytes begin."""
    stop = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:stop]), stop


def safetensors(header: str, data: bytes) -> bytes:
    """A safetensors file with this header."""
    text = header.encode("utf-8", "surrogatepass")
    return len(text).to_bytes(8, "little") + text + data
