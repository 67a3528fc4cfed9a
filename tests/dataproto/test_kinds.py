"""The kind of a column is all that is needed to make it again of its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from batchpact.dataproto import column
from batchpact.dataproto.kinds import OBJECTS, Kind, from_cells, kind_of

COLUMNS: dict[str, Any] = {
    "strings": column("abc"),
    "lists": column([[1, 2], [3, 4], [5, 6]]),
    "arrays": column([np.arange(2)] * 3),
    "scalars among objects": column([np.float32(1.5), np.float32(2), np.float32(3)]),
    "f32": np.array([1.5, np.nan, 3], dtype=np.float32),
    "big-endian": np.arange(3, dtype=">i2"),
    "bool": np.array([True, False, True]),
    "text": np.array(["a", "bcd", ""]),
    "time": np.array(["2026-01-01", "NaT", "2026-01-03"], dtype="M8[D]"),
    "matrix": np.arange(6, dtype=np.int16).reshape(3, 2),
    "objects with two axes": column("abcdef").reshape(3, 2),
    "no row": np.empty((0, 2), dtype=np.uint8),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_made_again_of_its_cells(name: str) -> None:
    given = COLUMNS[name]

    made = from_cells(list(given), kind_of(given))

    assert (made.dtype, made.shape) == (given.dtype, given.shape)
    assert made.dtype.str == given.dtype.str
    assert repr(list(made)) == repr(list(given))


def test_kinds_are_plain_values() -> None:
    assert kind_of(COLUMNS["lists"]) == OBJECTS == ("|O", ())
    assert kind_of(COLUMNS["matrix"]) == Kind("<i2", (2,))


def test_a_structured_dtype_becomes_objects() -> None:
    given = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f4")])

    assert kind_of(given) == OBJECTS
    assert from_cells(list(given), OBJECTS)[0]["b"] == 2.5
