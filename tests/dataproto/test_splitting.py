"""Cutting: the same rows in every store, equal parts or an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.dataproto.splitting import chunk_rows, split_rows
from tests.dataproto.support import jagged, refuses, small


def ten() -> DataProto:
    """Ten rows that know their number in every kind of store."""
    return DataProto.from_dict(
        {"dense": torch.arange(10), "jagged": jagged(*([row] * (row % 3) for row in range(10)))},
        {"text": [str(row) for row in range(10)], "number": np.arange(10, dtype=np.int32)},
        {"ten": list(range(10))},
    )


def test_ten_rows_in_three_parts_are_four_three_three_in_every_store() -> None:
    """Case R3: one index plan."""
    parts = ten().chunk(3, uneven=True)

    expected = [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    tensors = [part.batch for part in parts]
    assert [len(part) for part in parts] == [4, 3, 3]
    assert [batch["dense"].tolist() for batch in tensors if batch is not None] == expected
    assert [[row.tolist() for row in batch["jagged"].unbind()] for batch in tensors if batch is not None] == [
        [[row] * (row % 3) for row in rows] for rows in expected
    ]
    assert [[int(cell) for cell in part.non_tensor_batch["text"]] for part in parts] == expected
    assert [part.non_tensor_batch["number"].tolist() for part in parts] == expected
    assert [part.meta_info["ten"] for part in parts] == [list(range(10))] * 3


def test_unequal_parts_that_nobody_asked_for_are_an_error_with_the_numbers_and_the_ways_out() -> None:
    with refuses(
        "chunk",
        "BP043 split  chunks  10 rows into 3 parts; parts of equal length; 1 of 10 rows would be left over: "
        "chunk(3, uneven=True), 2 pad rows, or another number of parts",
    ):
        ten().chunk(3)


def test_a_hundred_rows_for_eight_ranks() -> None:
    """Case S1: the numbers and the ways out."""
    data = DataProto.from_dict({"x": torch.arange(100)})

    with refuses(
        "chunk",
        "BP043 split  chunks  100 rows into 8 parts; parts of equal length; 4 of 100 rows would be left over: "
        "chunk(8, uneven=True), 4 pad rows, or another number of parts",
    ):
        data.chunk(8)
    assert [len(part) for part in data.chunk(8, uneven=True)] == [13] * 4 + [12] * 4


def test_equal_parts_are_the_same_with_and_without_uneven() -> None:
    assert [len(part) for part in small().chunk(2)] == [2, 2]
    assert small().chunk(2) == small().chunk(2, uneven=True)


def test_more_parts_than_rows_are_parts_without_rows_that_keep_every_field() -> None:
    parts = small()[:1].chunk(3, uneven=True)

    assert [len(part) for part in parts] == [1, 0, 0]
    assert [part.stores().names() for part in parts] == [small().stores().names()] * 3


def test_no_row_can_be_cut() -> None:
    empty = small()[:0]

    assert [len(part) for part in empty.chunk(2)] == [0, 0]
    assert empty.split(3) == [empty]


def test_split_cuts_by_size_and_the_last_part_may_be_shorter() -> None:
    assert [len(part) for part in ten().split(4)] == [4, 4, 2]
    assert [len(part) for part in ten().split(5)] == [5, 5]
    assert [len(part) for part in ten().split(11)] == [10]


def test_parts_are_views() -> None:
    data = ten()
    assert data.batch is not None

    for part in (*data.chunk(2), *data.split(3)):
        assert part.batch is not None
        part.batch["dense"].add_(100)

    assert data.batch["dense"].tolist() == list(range(200, 210))


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (-2, "-2"), (True, "True"), (2.0, "2.0"), (None, "None"), ("2", "'2'")]
)
@pytest.mark.parametrize(
    ("operation", "name", "call"),
    [
        ("chunk", "chunks", lambda data, value: data.chunk(value)),
        ("chunk", "chunks", lambda data, value: data.chunk(value, uneven=True)),
        ("split", "split_size", lambda data, value: data.split(value)),
        ("repeat", "repeat_times", lambda data, value: data.repeat(value)),
    ],
)
def test_a_count_is_a_whole_number_of_at_least_one(
    value: Any, shown: str, operation: str, name: str, call: Any
) -> None:
    with refuses(operation, f"BP043 split  {name}  {shown}; a whole number, 1 or more"):
        call(small(), value)


def test_a_count_may_be_of_numpy() -> None:
    assert [len(part) for part in ten().chunk(np.int64(5))] == [2] * 5
    assert [len(part) for part in ten().split(np.int32(6))] == [6, 4]


def test_the_rows_of_all_parts_are_the_rows_in_order() -> None:
    for length in range(12):
        for number in range(1, 7):
            chunks = chunk_rows(length, number, uneven=True)
            assert np.concatenate([rows.index(length) for rows in chunks]).tolist() == list(range(length))
            assert max(rows.count for rows in chunks) - min(rows.count for rows in chunks) <= 1
            parts = split_rows(length, number)
            assert np.concatenate([rows.index(length) for rows in parts]).tolist() == list(range(length))
