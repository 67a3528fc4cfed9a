"""The safetensors file: readable by the library, and refused where its header lies about its entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from batchpact.dataproto import DataProto
from batchpact.dataproto.files import archive
from tests.dataproto.files.samples import every_kind
from tests.dataproto.files.sealing import outer_header, safetensors, take_apart
from tests.dataproto.support import plain_tensor, refuses, small

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

WRITTEN = "what save_to_disk wrote"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch"


def test_the_library_reads_what_is_bulk(path: Path) -> None:
    batch = every_kind()
    batch.save_to_disk(path)
    with safe_open(path, "pt") as file:
        for key in ("f32", "i64", "bool", "bf16"):
            assert plain_tensor(file.get_tensor(f"data/{key}")) == plain_tensor(batch.batch[key])
        assert torch.equal(file.get_tensor("values/jagged"), batch.batch["jagged"].values())
        assert file.get_tensor("data/f32_column").numpy().tobytes() == batch.non_tensor_batch["f32_column"].tobytes()
        assert (file.metadata()["format"], file.metadata()["version"]) == ("batchpact", "1")


def test_dtypes_that_safetensors_lacks_stand_as_bytes(path: Path) -> None:
    tensor, text = torch.randn(2, 3, dtype=torch.complex128), np.array(["a", "bcd"])
    DataProto.from_dict({"x": tensor}, {"t": text, "big": np.arange(2, dtype=">i4")}).save_to_disk(path)
    parts = take_apart(path.read_bytes())

    assert (parts.entries["data/x"].dtype, parts.entries["data/x"].shape) == ("U8", [2, 3, 16])
    assert (parts.entries["data/t"].dtype, parts.entries["data/t"].shape) == ("U8", [2, 12])
    assert (parts.entries["data/big"].dtype, parts.entries["data/big"].shape) == ("U8", [2, 4])
    assert [field["dtype"] for field in parts.header["fields"]] == ["complex128", "<U3", ">i4"]


def entry(dtype: str, shape: Any, start: Any, stop: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


GAP = "entries of known size, without a gap"
NOT_READ = "a header that cannot be read: "
HEADERS: dict[str, tuple[Any, str]] = {
    "a gap": ({"x": entry("U8", [4], 4, 8)}, f"entry 'x', bytes 4 to 8; {GAP}"),
    "overlap": (
        {"x": entry("U8", [6], 0, 6), "y": entry("U8", [4], 4, 8)},
        f"entry 'y', bytes 4 to 8; {GAP}",
    ),
    "too long": ({"x": entry("F32", [1], 0, 8)}, f"entry 'x', bytes 0 to 8; {GAP}"),
    "backwards": ({"x": entry("U8", [0], 8, 0)}, f"entry 'x', bytes 8 to 0; {GAP}"),
    "unknown dtype": ({"x": entry("F4", [16], 0, 8)}, f"entry 'x', bytes 0 to 8; {GAP}"),
    "huge": ({"x": entry("U8", [2**62, 4], 0, 8)}, f"entry 'x', bytes 0 to 8; {GAP}"),
    "beyond": ({"x": entry("U8", [80], 0, 80)}, "a file of {size} bytes; {more}, as its header says"),
    "less": ({"x": entry("U8", [2], 0, 2)}, "a file of {size} bytes; {less}, as its header says"),
    "no object": ([], f"a header that is no object; {WRITTEN}"),
    "metadata": ({"__metadata__": {"x": 1}}, f"{NOT_READ}1 validation error for dict[str,str]; {WRITTEN}"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_lies_is_refused(path: Path, name: str) -> None:
    header, line = HEADERS[name]
    content = safetensors(json.dumps(header), b"12345678")
    path.write_bytes(content)
    sizes = {"size": len(content), "more": len(content) + 72, "less": len(content) - 6}

    with refuses("load_from_disk", f"BP048 file  {path}  {line.format(**sizes)}"):
        DataProto.load_from_disk(path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"x": 1, "x": 2}', "a header that says something twice"),
        ('{"x": {"dtype": "U8", "dtype": "U8"}}', "a header that says something twice"),
        ("{ ", f"{NOT_READ}Expecting property name enclosed in double quotes"),
        ('{"x": 1}', f"{NOT_READ}1 validation error for dict[str,Entry]"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", f"{NOT_READ}maximum recursion depth exceeded"),
        ('{"x": ' + "9" * 10_000 + "}", f"{NOT_READ}Exceeds the limit (4300 digits)"),
        ("\ud800", f"{NOT_READ}'utf-8' codec can't decode"),
    ],
    ids=["twice", "twice inside", "cut off", "other types", "deep", "digits", "no text"],
)
def test_a_header_that_is_no_such_json_is_refused(path: Path, text: str, line: str) -> None:
    path.write_bytes(safetensors(text, b""))

    with pytest.raises(archive.Broken) as caught, path.open("rb", buffering=0) as file:
        archive.Archive(file)  # type: ignore[arg-type]
    assert caught.value.actual.startswith(line)


def test_a_header_has_a_limit_as_it_takes_many_times_its_bytes_once_it_is_read(path: Path) -> None:
    length = 2**24 + 2**14
    path.write_bytes(length.to_bytes(8, "little") + b"{}" + b" " * length)

    size = length + 10
    with refuses(
        "load_from_disk",
        f"BP048 file  {path}  a header of {length} bytes; at most {2**24 + size // 2**12} in a file of {size} bytes",
    ):
        DataProto.load_from_disk(path)


def test_a_batch_whose_header_would_be_too_long_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small().save_to_disk(path)
    monkeypatch.setattr(archive, "_HEADER_LIMIT", 1000)

    with refuses("save_to_disk", f"BP048 file  {path}  {_too_long(path)}"):
        small().save_to_disk(path)
    monkeypatch.undo()
    assert DataProto.load_from_disk(path) == small()


def _too_long(path: Path) -> str:
    size, length = path.stat().st_size, outer_header(path.read_bytes())[1] - 8
    return f"a header of {length} bytes; at most {1000 + size // 2**12} in a file of {size} bytes"


@pytest.mark.parametrize("cut", [1, 100, -100, -1])
def test_a_file_that_was_cut_off_is_refused(path: Path, cut: int) -> None:
    small().save_to_disk(path)
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(archive.Broken), path.open("rb", buffering=0) as file:
        archive.Archive(file)  # type: ignore[arg-type]


def test_a_file_that_becomes_shorter_while_it_is_read_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapped file would end the process here."""
    small().save_to_disk(path)
    read = archive.Archive.read

    def shorten(self: archive.Archive, *arguments: Any) -> Any:
        path.write_bytes(path.read_bytes()[:100])
        return read(self, *arguments)

    monkeypatch.setattr(archive.Archive, "read", shorten)
    with pytest.raises(ValueError, match=r"BP048 file  ids +a file that has become shorter while it was read"):
        DataProto.load_from_disk(path)
