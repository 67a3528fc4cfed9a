"""Fields whose pieces, with right checksums, do not make up what the header says: each is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError
from tests.dataproto.files.samples import every_kind
from tests.dataproto.files.sealing import Parts, take_apart
from tests.dataproto.support import refuses

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

WRITTEN = "what save_to_disk wrote"
HUGE = 2**62


def numbers(*values: int, dtype: str = "<i8") -> bytes:
    return np.array(values, dtype=dtype).tobytes()


def said(key: str, **values: Any) -> Callable[[Parts], None]:
    """The header says something else of a field."""

    def change(parts: Parts) -> None:
        parts.field(key).update(values)

    return change


def replaced(name: str, data: bytes, **more: Any) -> Callable[[Parts], None]:
    """A piece has other bytes."""

    def change(parts: Parts) -> None:
        parts.replace(name, data, **more)

    return change


def resized(name: str, *shape: int) -> Callable[[Parts], None]:
    """A piece has another shape with as many elements, or none."""

    def change(parts: Parts) -> None:
        parts.replace(name, parts.entries[name].data if 0 not in shape else b"", shape=list(shape))

    return change


def without(key: str, role: str) -> Callable[[Parts], None]:
    """A field has lost a piece."""

    def change(parts: Parts) -> None:
        del parts.field(key)["pieces"][role], parts.entries[f"{role}/{key}"]

    return change


# In the batch, `jagged` has 9 elements and the rows of `strided` are [2, n].
CUT = "offsets that do not cut the values into rows; where each row starts, and the last one ends"
REFUSED: dict[str, tuple[Callable[[Parts], None], str]] = {
    # dense tensors
    "layout of a tensor": (said("f32", layout="value"), "f32  value as a tensor; dense, jagged or strided"),
    "rows": (said("f32", shape=[6, 3]), "f32  shape [6, 3]; 5 rows, as the batch has"),
    "no shape": (said("f32", shape=None), "f32  shape []; 5 rows, as the batch has"),
    "no dtype": (said("f32", dtype=None), f"f32  a field without a dtype; {WRITTEN}"),
    "another dtype": (said("f32", dtype="int32"), "f32  data F32[5, 3]; those of int32[5, 3]"),
    "another shape": (said("f32", shape=[5, 4]), "f32  data F32[5, 3]; those of float32[5, 4]"),
    "an unknown dtype": (said("f32", dtype="float33"), "f32  dtype 'float33'; the name of a torch dtype"),
    "no tensor": (said("f32", pieces={}), f"f32  a field without its data; {WRITTEN}"),
    "no booleans": (replaced("data/bool", b"\x02" * 10), "bool  bytes that are neither 0 nor 1; booleans"),
    # jagged tensors
    "no ragged axis": (said("jagged", shape=[5]), "jagged  shape [5]; one ragged axis"),
    "two ragged axes": (said("jagged", shape=[5, None, None]), "jagged  shape [5, None, None]; one ragged axis"),
    "a wider row": (said("jagged", shape=[5, None, 2]), "jagged  values I64[9]; those of int64[9, 2]"),
    "nobody's offsets": (said("jagged", offsets="nobody"), f"jagged  offsets of a field that is not there; {WRITTEN}"),
    "no offsets": (said("jagged", offsets="f32"), f"jagged  a field without its offsets; {WRITTEN}"),
    "offsets of a dtype": (
        replaced("offsets/jagged", bytes(24), dtype="F32"),
        "jagged  offsets of float32; int32 or int64",
    ),
    "offsets for others": (
        replaced("offsets/jagged", numbers(0, 11), shape=[2]),
        "jagged  offsets I64[2]; those of int64[6]",
    ),
    "offsets backwards": (replaced("offsets/jagged", numbers(0, 8, 1, 3, 5, 9)), f"jagged  {CUT}"),
    "offsets beyond": (
        replaced("offsets/jagged", numbers(0, 1, 2, 3, 4, HUGE)),
        f"jagged  values 0 to {HUGE} of 9; a range within them",
    ),
    "offsets before": (
        replaced("offsets/jagged", numbers(-5, 1, 2, 3, 4, 5)),
        "jagged  values -5 to 5 of 9; a range within them",
    ),
    # strided ones
    "no sizes": (without("strided", "sizes"), f"strided  a field without its sizes; {WRITTEN}"),
    "sizes in one row": (resized("sizes/strided", 10), "strided  sizes [10]; sizes for each row"),
    "negative sizes": (
        lambda parts: parts.replace(
            "sizes/strided", parts.entries["sizes/strided"].data.replace(numbers(2), numbers(-2))
        ),
        "strided  sizes that do not cut the values into rows; the sizes of each row",
    ),
    "ends": (
        replaced("ends/strided", numbers(0, 1, 2, 3, 4, 5)),
        "strided  sizes that do not cut the values into rows; the sizes of each row",
    ),
    "sizes of a dtype": (
        replaced("sizes/strided", bytes(80), dtype="F64"),
        "strided  sizes F64[5, 2]; those of int64[5, 2]",
    ),
    # numeric columns
    "layout of a column": (said("f32_column", layout="jagged"), "f32_column  jagged as a column; dense or objects"),
    "a ragged column": (
        said("f32_column", shape=[5, None]),
        "f32_column  shape [5, None] of a column; a size for each axis",
    ),
    "a column of objects": (
        said("f32_column", dtype="|O"),
        "f32_column  dtype '|O'; a dtype of numbers, times or text",
    ),
    "another column": (said("f32_column", dtype="<i4"), "f32_column  data F32[5]; those of int32[5]"),
    "no characters": (
        replaced("data/text_column", b"\xff" * 60),
        "text_column  numbers that are no characters; text",
    ),
    # object columns
    "fewer cells": (replaced("ends/lists", numbers(0, 1), shape=[2]), "lists  1 cells; those of [5]"),
    "no ends": (without("lists", "ends"), f"lists  a field without its ends; {WRITTEN}"),
    "cells backwards": (
        replaced("ends/lists", numbers(0, 9, 1, 3, 5, 7)),
        f"lists  cells that end before they start; {WRITTEN}",
    ),
    "cells beyond": (
        replaced("ends/lists", numbers(0, 0, 0, 0, 0, HUGE)),
        f"lists  cells 0 to {HUGE} of 45; a range within them",
    ),
    "cells before": (
        replaced("ends/lists", numbers(-1, 0, 0, 0, 0, 45)),
        "lists  cells -1 to 45 of 45; a range within them",
    ),
    "no such cell": (
        replaced("index/nones", numbers(0, 1, 2, 3, 99)),
        "nones  ends 0 to 101 of 3; a range within them",
    ),
    "a cell before": (
        replaced("index/nones", numbers(0, 0, 0, 0, -1)),
        "nones  ends -1 to 2 of 3; a range within them",
    ),
    "fewer rows": (resized("index/nones", 0), "nones  0 cells; those of [5]"),
    "cells of a dtype": (
        lambda parts: parts.replace("cells/lists", bytes(48), dtype="F32", shape=[12]),
        "lists  cells F32[12]; those of uint8[12]",
    ),
    # meta
    "layout of a value": (said("eos", layout="objects"), "eos  objects as a value; a value"),
    "two values": (
        replaced("cells/eos", b"\x01\x02", shape=[2]),
        "eos  no data in the form that save_to_disk writes: MessagePack data is malformed: "
        f"trailing characters (byte 1); {WRITTEN}",
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "batch"


@pytest.mark.parametrize("name", REFUSED)
def test_pieces_that_do_not_make_up_the_field_are_refused(path: Path, name: str) -> None:
    change, line = REFUSED[name]
    every_kind().save_to_disk(path)
    parts = take_apart(path.read_bytes())
    change(parts)
    parts.header = {key: value for key, value in parts.header.items() if value is not None}
    for field in parts.header["fields"]:
        for key in [key for key, value in field.items() if value is None]:
            del field[key]
    listed = parts.pieces()
    parts.entries = {name: entry for name, entry in parts.entries.items() if name in listed}
    path.write_bytes(parts.seal())

    with refuses("load_from_disk", f"BP048 file  {line}"):
        DataProto.load_from_disk(path)


def test_all_damaged_fields_are_named(path: Path) -> None:
    every_kind().save_to_disk(path)
    parts = take_apart(path.read_bytes())
    parts.field("f32")["dtype"] = parts.field("i64")["dtype"] = "float33"
    path.write_bytes(parts.seal())

    with pytest.raises(BatchError) as caught:
        DataProto.load_from_disk(path)
    assert [violation.field for violation in caught.value.violations] == ["f32", "i64"]
    assert len(DataProto.load_from_disk(path, fields=["bool", "dicts"])) == 5


def test_a_cell_that_no_row_has_is_not_read(path: Path) -> None:
    DataProto.from_dict(None, {"x": ["a", None, "a"]}).save_to_disk(path)
    parts = take_apart(path.read_bytes())
    parts.replace("index/x", numbers(1, 1, 1))
    parts.replace("cells/x", b"\xc1\xc1\xc0")
    path.write_bytes(parts.seal())

    assert DataProto.load_from_disk(path).non_tensor_batch["x"].tolist() == [None] * 3
