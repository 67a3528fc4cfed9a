"""Concat: the same fields, kinds and row shapes in every part; or an error that names part, field and producer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import plain, refuses, small


def part(x: Any = None, **columns: Any) -> DataProto:
    return DataProto.from_dict({} if x is None else {"x": x}, columns)


def test_rows_stand_one_below_the_other() -> None:
    joined = DataProto.concat([small()[2:], small()[:1], small()[1:2]])

    assert plain(joined) == plain(small()[[2, 3, 0, 1]])


def test_the_parts_stay_as_they_are() -> None:
    parts = [small()[:1], small()[1:]]
    before = [plain(one) for one in parts]

    joined = DataProto.concat(parts)
    joined.meta_info["late"] = joined.non_tensor_batch["late"] = 1  # type: ignore[assignment]

    assert [plain(one) for one in parts] == before


def test_no_parts_are_refused() -> None:
    with refuses("concat", "BP042 parts  parts  no parts; at least one"):
        DataProto.concat([])


# --- parts without rows or fields -------------------------------------------------------------------------------------


def test_parts_without_rows_add_none() -> None:
    data = small()

    assert DataProto.concat([data[:0], data, data[4:]]) == data
    assert plain(DataProto.concat([data[:0], data[:0]])) == plain(data[:0])


@pytest.mark.parametrize("nothing", [DataProto(), DataProto(TensorDict({}, batch_size=[3]))])
def test_parts_without_fields_add_nothing(nothing: DataProto) -> None:
    data = small()

    assert plain(DataProto.concat([nothing, data, nothing])) == plain(data)
    assert len(DataProto.concat([nothing, data])) == 4


def test_parts_without_any_field_keep_their_rows() -> None:
    assert len(DataProto.concat(DataProto(TensorDict({}, batch_size=[5])).chunk(2, uneven=True))) == 5
    assert DataProto.concat([DataProto(), DataProto()]) == DataProto()


def test_meta_alone_is_joined() -> None:
    joined = DataProto.concat([DataProto(meta_info={"a": 1}), DataProto(meta_info={"a": 1, "b": [2]})])

    assert joined == DataProto(meta_info={"a": 1, "b": [2]})


# --- rows -----------------------------------------------------------------------------------------------------------


def test_trailing_shapes_stay() -> None:
    """Case R5."""
    joined = DataProto.concat([part(torch.arange(6).reshape(2, 3)), part(torch.arange(3).reshape(1, 3))])

    assert joined.batch is not None
    assert joined.batch["x"].tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]


def test_object_cells_are_the_same_objects() -> None:
    cells = [[1, 2], [3, 4], {"a": 1}, None]

    joined = DataProto.concat([part(c=cells[:2]), part(c=cells[2:])])

    assert all(cell is given for cell, given in zip(joined.non_tensor_batch["c"], column(cells), strict=True))


# --- what the parts remember ------------------------------------------------------------------------------------------


def test_writers_of_all_parts_are_known_and_the_first_counts() -> None:
    one, two = part(torch.ones(1)), part(torch.ones(1))
    one._writers, two._writers = {"x": "first"}, {"x": "second", "gone": "third"}

    joined = DataProto.concat([one, two])

    assert joined.history() == {"x": "written by 'first'", "gone": "written by 'third'"}


def test_pad_marks_and_origins_are_joined() -> None:
    one, two = part(torch.ones(2)), part(torch.ones(1))
    one._marks = RowMarks(np.array([5, 6]), np.array([True, False]))

    assert DataProto.concat([one, two])._marks.pads.tolist() == [True, False, False]
    assert DataProto.concat([one, two])._marks.origin is None
    two._marks = RowMarks(np.array([7]))
    assert DataProto.concat([one, DataProto(), two])._marks.origin.tolist() == [5, 6, 7]
