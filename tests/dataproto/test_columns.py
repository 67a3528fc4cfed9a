"""Object columns: one row is one cell, whatever the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto, column
from tests.dataproto.support import refuses

ROWS: dict[str, list[Any]] = {
    "lists of equal length": [[1, 2], [3, 4]],
    "lists of different lengths": [[1], [2, 3], []],
    "one row of one list": [[7]],
    "one empty list": [[]],
    "no row": [],
    "tuples": [(1, 2), (3, 4)],
    "arrays of equal shape": [np.arange(2), np.arange(2)],
    "tensors": [torch.arange(2), torch.arange(3)],
    "dicts": [{"a": 1}, {"b": [2]}],
    "text and None": ["uid", None],
    "numbers": [1, 2.5],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
def test_a_column_has_one_axis_and_the_very_objects_that_were_given(rows: list[Any]) -> None:
    """Case P1: one constructor, whatever the rows are. Case P3: cells come back with the type that went in."""
    made = column(rows)

    assert made.dtype == object
    assert made.shape == (len(rows),)
    assert all(cell is row for cell, row in zip(made, rows, strict=True))


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
def test_a_list_given_as_a_column_is_one(rows: list[Any]) -> None:
    made = DataProto.from_dict(non_tensors={"cells": rows}).non_tensor_batch["cells"]

    assert made.dtype == object
    assert made.shape == (len(rows),)
    assert all(cell is row for cell, row in zip(made, rows, strict=True))


def test_a_column_is_made_of_any_iterable() -> None:
    assert list(column(str(number) for number in range(3))) == ["0", "1", "2"]
    assert [row.tolist() for row in column(np.arange(4).reshape(2, 2))] == [[0, 1], [2, 3]]


def test_an_object_matrix_was_meant_as_rows_that_are_lists() -> None:
    """Case P1."""
    data = DataProto.from_dict(non_tensors={"answers": np.array([[1, 2], [3, 4]], dtype=object)})

    cells = data.non_tensor_batch["answers"]
    assert cells.shape == (2,)
    assert list(cells) == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64, "U4", "M8[s]"])
def test_an_array_that_is_no_object_array_keeps_its_dtype_and_its_memory(dtype: Any) -> None:
    given = np.array([1, 0, 1]).astype(dtype)

    held = DataProto.from_dict(non_tensors={"x": given}).non_tensor_batch["x"]

    assert held is given
    assert held.dtype == np.dtype(dtype)


def test_a_numeric_matrix_stays_a_matrix() -> None:
    given = np.arange(6, dtype=np.int16).reshape(3, 2)

    assert DataProto.from_dict(non_tensors={"x": given}).non_tensor_batch["x"].shape == (3, 2)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            torch.ones(2, 3),
            "BP045 store  x  tensor f32[2, 3]; a tensor goes into tensors, not into non_tensors",
        ),
        (np.array(5), "BP045 store  x  an array without rows; a column has one value per row"),
        *(
            (
                value,
                f"BP045 store  x  {name}; a column is a list or a numpy array with one value per row; one value for "
                "the batch goes into meta_info",
            )
            for value, name in [
                ("text", "str"),
                (3, "int 3"),
                (None, "None"),
                ({"a": 1}, "dict of 1"),
                ({1}, "set of 1"),
            ]
        ),
    ],
)
def test_what_is_no_column_is_refused_by_its_key(value: Any, line: str) -> None:
    with refuses("from_dict", line):
        DataProto.from_dict(non_tensors={"uid": ["a", "b"], "x": value})
