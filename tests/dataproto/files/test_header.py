"""What the header says is verified; a header with right checksums that lies about its fields is refused, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError
from tests.dataproto.files.samples import every_kind, marked
from tests.dataproto.files.sealing import Parts, take_apart
from tests.dataproto.support import plain, refuses

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

WRITTEN = "what save_to_disk wrote"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch"


def changed(path: Path, change: Callable[[Parts], Any], batch: DataProto | None = None) -> None:
    """Save a batch, change what its file says, and seal it anew."""
    (every_kind() if batch is None else batch).save_to_disk(path)
    parts = take_apart(path.read_bytes())
    change(parts)
    path.write_bytes(parts.seal())


def test_a_file_sealed_by_the_description_of_the_format_is_read(path: Path) -> None:
    for batch in (every_kind(), marked()):
        changed(path, lambda parts: None, batch)

        assert plain(DataProto.load_from_disk(path)) == plain(batch)


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        ({"format": "other"}, "a safetensors file without a batch; a file that save_to_disk wrote"),
        (
            {"version": "2"},
            "format version '2'; version '1', which is what this one reads; "
            "a later version of batchpact may have written it",
        ),
        ({"checksum": "0" * 16}, f"a header that does not have its checksum; {WRITTEN}"),
        ({"header": "{}"}, f"a header that does not have its checksum; {WRITTEN}"),
        ({"header": "\ud800"}, f"a header that does not have its checksum; {WRITTEN}"),
    ],
    ids=["format", "version", "checksum", "header", "half a character"],
)
def test_texts_that_are_not_ours_are_refused(path: Path, texts: dict[str, str], line: str) -> None:
    every_kind().save_to_disk(path)
    parts = take_apart(path.read_bytes())
    sealed = parts.seal_header(json.dumps(parts.header))
    for name, text in texts.items():
        before = json.dumps({name: parts.texts[name]})[1:-1].encode()
        sealed = sealed.replace(before, json.dumps({name: text})[1:-1].encode())
    length = sealed.index(b"}}", sealed.rindex(b"data_offsets")) + 2 - 8
    path.write_bytes(length.to_bytes(8, "little") + sealed[8:])

    with refuses("load_from_disk", f"BP048 file  {path}  {line}"):
        DataProto.load_from_disk(path)


def put(*place: Any) -> Callable[[Parts], Any]:
    """Set a value in the header: the keys that lead to it, and the value."""

    def change(parts: Parts) -> None:
        *way, last, value = place
        found: Any = parts.header
        for key in way:
            found = found[key]
        found[last] = value

    return change


def other_entry(parts: Parts) -> None:
    parts.entries["data/f32"].shape = [3, 5]


FORM = "a header in another form: "
LIES: dict[str, tuple[Callable[[Parts], Any], str]] = {
    "rows": (put("rows", -1), f"{FORM}rows: Input should be greater than or equal to 0"),
    "float rows": (put("rows", 5.0), f"{FORM}rows: Input should be a valid integer"),
    "more": (put("extra", 1), f"{FORM}extra: Extra inputs are not permitted"),
    "layout": (
        put("fields", 0, "layout", "sparse"),
        f"{FORM}fields.0.layout: Input should be 'dense', 'jagged', 'strided', 'objects' or 'value'",
    ),
    "no field": (put("fields", 0, None), f"{FORM}fields.0: Input should be an object"),
    "two of one name": (put("fields", 1, "key", "f32"), "a header with two fields of one name"),
    "another name": (put("fields", 0, "key", "f33"), "entry 'data/f33' is not what the header says of it"),
    "another shape": (other_entry, "entry 'data/f32' is not what the header says of it"),
    "an entry too many": (
        lambda parts: parts.header["fields"].pop(),
        "entry 'cells/none' is not what the header says of it",
    ),
    "an entry too few": (
        lambda parts: parts.entries.pop("cells/none"),
        "entry 'cells/none' is not what the header says of it",
    ),
    "pads": (
        put("pads", {"dtype": "BOOL", "shape": [5], "checksums": ""}),
        "entry 'pads/' is not what the header says of it",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_header_that_is_wrong_in_itself_is_refused(path: Path, name: str) -> None:
    change, line = LIES[name]
    changed(path, change)

    with refuses("load_from_disk", f"BP048 file  {path}  {line}; {WRITTEN}"):
        DataProto.load_from_disk(path)


@pytest.mark.parametrize("text", ["", "5", "{", "\ud800"])
def test_a_header_that_is_none_is_refused_although_it_has_its_checksum(path: Path, text: str) -> None:
    every_kind().save_to_disk(path)
    path.write_bytes(take_apart(path.read_bytes()).seal_header(text))

    with pytest.raises(BatchError, match=r"BP048 file  .*  a header in another form: "):
        DataProto.load_from_disk(path)


def test_an_entry_without_a_checksum_is_refused(path: Path) -> None:
    every_kind().save_to_disk(path)
    parts = take_apart(path.read_bytes())
    parts.field("f32")["pieces"]["data"]["checksums"] = ""
    path.write_bytes(parts.seal_header(json.dumps(parts.header)))

    with refuses(
        "load_from_disk",
        f"BP048 file  {path}  entry 'data/f32' does not have a checksum for each block; {WRITTEN}",
    ):
        DataProto.load_from_disk(path)


def test_a_header_that_declares_rows_takes_no_memory_for_them(path: Path) -> None:
    changed(path, put("rows", 2**62), DataProto.from_dict(None, {"x": ["a"] * 3}))
    with refuses("load_from_disk", f"BP048 file  x  shape [3]; {2**62} rows, as the batch has"):
        DataProto.load_from_disk(path)

    def huge(parts: Parts) -> None:
        parts.header["rows"] = 2**62
        parts.field("x")["shape"] = [2**62]

    changed(path, huge, DataProto.from_dict(None, {"x": ["a"] * 3}))
    with refuses("load_from_disk", f"BP048 file  x  3 cells; those of [{2**62}]"):
        DataProto.load_from_disk(path)


def test_the_batch_size_is_that_of_the_tensors(path: Path) -> None:
    batch = DataProto.from_dict({"x": torch.ones(3, 2)})
    changed(path, put("batch_size", [3, 3]), batch)
    with refuses("load_from_disk", "BP048 file  x  f32[3, 2]; batch size [3, 3]"):
        DataProto.load_from_disk(path)
    changed(path, lambda parts: parts.header.pop("batch_size"), batch)
    with refuses("load_from_disk", f"BP048 file  x  a tensor in a batch without tensors; {WRITTEN}"):
        DataProto.load_from_disk(path)


def test_the_marks_are_a_boolean_for_each_row(path: Path) -> None:
    changed(path, lambda parts: parts.replace("pads/", bytes(8), dtype="U8"), marked())
    with refuses("load_from_disk", "BP048 file  pad_mask  marks U8[8]; a boolean for each row"):
        DataProto.load_from_disk(path)
    changed(path, lambda parts: parts.replace("filled/score", bytes(7), shape=[7]), marked())
    with refuses("load_from_disk", "BP048 file  score  marks BOOL[7]; a boolean for each row"):
        DataProto.load_from_disk(path)
