"""`batchpact inspect`: what the header of a saved batch says, and its first rows."""

from __future__ import annotations

import json
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from batchpact.contracts.inspect import inspected
from batchpact.dataproto import DataProto
from batchpact.dataproto.files import reading
from tests.dataproto.files.samples import Trap, every_kind, marked
from tests.dataproto.files.sealing import take_apart

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def inspect(*arguments: str) -> tuple[int, list[str]]:
    """The exit code and the lines of `batchpact inspect`."""
    result = CliRunner().invoke(app, ["inspect", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, [line.rstrip() for line in result.output.splitlines()]


def test_it_shows_fields_writers_and_schema() -> None:
    marked().save_to_disk("step_7")

    assert inspect("step_7") == (
        0,
        [
            "step_7: 8 rows, some of them padding, bound to Declared, 2 fields, 195 B",
            "field             type        size  written by  declared",
            "─────────────────────────────────────────────────────────",
            "batch                         64 B",
            "  ids             i64[8]      64 B  generate    yes",
            "non_tensor_batch             131 B",
            "  score           8 objects  131 B  judge       yes",
            "meta_info         -            0 B",
        ],
    )


def test_it_shows_the_first_rows() -> None:
    DataProto.from_dict(
        {"ids": torch.arange(14).reshape(2, 7), "score": torch.tensor([0.5, -1.0])},
        {"answer": ["a\nb", {"text": "x" * 500}], "n": [1, None]},
        {"temperature": 1.0},
    ).save_to_disk("batch")
    code, lines = inspect("batch", "--rows", "5")

    assert code == 0
    assert lines[-11:] == [
        "row 0",
        "  ids     i64[7]  0, 1, 2, 3, 4, ...",
        "  score   f32[]  0.5",
        "  answer  'a\\nb'",
        "  n       1",
        "",
        "row 1",
        "  ids     i64[7]  7, 8, 9, 10, 11, ...",
        "  score   f32[]  -1.0",
        f"  answer  {{'text': '{'x' * 79}…",
        "  n       None",
    ]


def test_json_holds_what_the_header_says() -> None:
    batch = marked()
    batch.meta_info["k"] = 1
    batch.save_to_disk("step_7")
    code, lines = inspect("step_7", "--json", "--rows", "1")
    found = json.loads("\n".join(lines))
    schema = found.pop("schema")

    assert code == 0
    assert found == {
        "file": "step_7",
        "format": "1",
        "rows": 8,
        "batch_size": [8],
        "padded": True,
        "bytes": 196,
        "fields": [
            {
                **{"key": "ids", "placement": "tensor", "kind": "i64[8]", "layout": "dense", "dtype": "int64"},
                **{"shape": [8], "pickled": False, "bytes": 64, "written_by": "generate"},
            },
            {
                **{"key": "score", "placement": "non_tensor", "kind": "8 objects", "layout": "objects"},
                **{"dtype": None, "shape": [8], "pickled": False, "bytes": 131, "written_by": "judge"},
            },
            {
                **{"key": "k", "placement": "meta", "kind": "int 1", "layout": "value", "dtype": None},
                **{"shape": None, "pickled": False, "bytes": 1, "written_by": None},
            },
        ],
        "first_rows": [{"ids": "i64[]  0", "score": "0.5"}],
    }
    assert (schema["name"], schema["dims"]) == ("Declared", {})
    assert [field["key"] for field in schema["fields"]] == ["ids", "score"]


def test_every_kind_of_field_is_shown() -> None:
    batch = every_kind()
    batch.batch["f8"] = torch.zeros(5, 2, dtype=torch.float8_e5m2)
    batch.batch["bits"] = torch.zeros(5, 2, dtype=torch.uint8).view(torch.bits8)
    batch.save_to_disk("batch")
    code, lines = inspect("batch", "--rows", "2")

    assert code == 0
    assert {line.split()[0] for line in lines if line.startswith("  ")} == set(batch.stores().names())


def test_pickled_fields_are_marked_and_not_read() -> None:
    DataProto.from_dict(None, {"trap": [Trap()], "fine": [1]}, {"also": {range(3)}}).save_to_disk(
        "batch", allow_pickle=True
    )
    code, lines = inspect("batch", "--rows", "1")

    assert code == 0 and not Trap.sprung
    assert [line.split()[0] for line in lines if line.endswith("pickled")] == ["trap", "also"]
    assert lines[-1] == "  fine  1"


def test_only_the_header_is_read_and_the_rows_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    DataProto.from_dict({"x": torch.zeros(64, 2**17)}).save_to_disk("batch")
    read = 0

    class Counting(FileIO):
        def readinto(self, buffer: Any) -> int:
            nonlocal read
            got = super().readinto(buffer) or 0
            read += got
            return got

    monkeypatch.setattr(reading, "FileIO", Counting)
    inspected("batch")
    assert read < 5_000
    inspected("batch", rows=2)
    assert read < 2 * 2**19 + 2**20


def test_a_damaged_row_exits_with_2() -> None:
    DataProto.from_dict({"x": torch.zeros(4)}).save_to_disk("batch")
    content = Path("batch").read_bytes()
    Path("batch").write_bytes(content[:-1] + b"x")

    assert inspect("batch")[0] == 0
    code, lines = inspect("batch", "--rows", "1")
    assert (code, lines[2]) == (
        2,
        "  BP048 file  x  block 0 of data does not have its checksum; what save_to_disk wrote",
    )


def test_what_is_no_saved_batch_exits_with_2() -> None:
    Path("text").write_text("[red]hello[/red]")

    assert inspect("text") == (
        2,
        [
            "1 problem in DataProto.load_from_disk; nothing was changed",
            "",
            "  BP048 file  text  no safetensors file, or one that is cut off; a file that save_to_disk wrote",
        ],
    )
    assert inspect("nowhere") == (2, ["[Errno 2] No such file or directory: 'nowhere'"])


def test_a_file_cannot_write_to_the_terminal() -> None:
    """Names and kinds come from a file; only what prints is printed."""
    DataProto(meta_info={"k": 1}).save_to_disk("batch")
    parts = take_apart(Path("batch").read_bytes())
    entry = parts.entries.pop("cells/k")
    field = parts.field("k")
    field["key"], field["kind"] = "\x1b[2J\n[red]k", "\x1b]0;title\x07"
    parts.entries[f"cells/{field['key']}"] = entry
    parts.header["writers"] = {field["key"]: "\x1b[31m"}
    Path("batch").write_bytes(parts.seal())
    code, lines = inspect("batch")

    assert code == 0
    assert "\x1b" not in "\n".join(lines)
    assert "\\x1b[2J\\n[red]k" in lines[-1]


@pytest.mark.parametrize("spec", [{}, {"name": 5, "fields": 5}, {"fields": [5, {"key": ["x"]}]}], ids=str)
def test_a_schema_record_that_says_anything_is_shown(spec: dict[str, Any]) -> None:
    marked().save_to_disk("batch")
    parts = take_apart(Path("batch").read_bytes())
    parts.header["bound"]["spec"] = spec
    Path("batch").write_bytes(parts.seal())

    assert f"bound to {spec.get('name')}" in inspect("batch")[1][0]


def test_rows_are_no_fewer_than_none() -> None:
    marked().save_to_disk("batch")

    assert inspect("batch", "--rows", "-1")[0] == 2
