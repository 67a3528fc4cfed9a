"""Concat: the same fields, kinds and row shapes in every part; or an error that names part, field and producer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import jagged, jagged_on_2, plain, refuses, small


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


# --- fields -----------------------------------------------------------------------------------------------------------


def test_a_missing_field_is_named_with_part_and_producer() -> None:
    """Case M4."""
    parts = [part(torch.ones(2), uid=["a", "b"]) for _ in range(4)]
    for one in parts:
        one._writers = {"x": "score", "uid": "rollout"}
    parts[1].pop(["x"])
    parts[2].pop(["x"])
    parts[0].pop([], ["uid"])

    with refuses(
        "concat",
        "BP042 parts  x    missing in parts 1, 2, present in parts 0, 3 (written by 'score'); every part has the same "
        "fields; the producer must write it for every part, or the field be left out of all",
        "BP042 parts  uid  missing in part 0, present in parts 1, 2, 3 (written by 'rollout'); every part has the same "
        "fields; the producer must write it for every part, or the field be left out of all",
    ):
        DataProto.concat(parts)


def test_a_part_that_has_a_field_too_many_is_named() -> None:
    with refuses(
        "concat",
        "BP042 parts  extra  missing in parts 0, 1, 2, 3, 4, 5 and 2 more, present in part 8; every part has the same "
        "fields; the producer must write it for every part, or the field be left out of all",
    ):
        DataProto.concat([part(torch.ones(1))] * 8 + [part(torch.ones(1), extra=["e"])])


def test_a_field_has_one_place_in_all_parts() -> None:
    with refuses(
        "concat",
        "BP045 store  x  in batch of parts 0, 2 and in non_tensor_batch of part 1; one place for one name",
    ):
        DataProto.concat([part(torch.ones(1)), DataProto.from_dict(non_tensors={"x": [1.0]}), part(torch.ones(1))])


# --- kinds ------------------------------------------------------------------------------------------------------------

MISMATCHES: dict[str, tuple[list[Any], str]] = {
    "dtype": (
        [torch.ones(2, 3), torch.ones(2, 3).double(), torch.ones(1, 3)],
        "f32 rows of [3] in parts 0, 2, f64 rows of [3] in part 1",
    ),
    "unequal lengths": (
        [torch.ones(4, 17), torch.ones(4, 21)],
        "f32 rows of [17] in part 0, f32 rows of [21] in part 1",
    ),
    "rank": ([torch.ones(2), torch.ones(2, 1)], "f32 rows of [] in part 0, f32 rows of [1] in part 1"),
    "layout": (
        [jagged([1], [2, 3]), torch.ones(2, 3, dtype=torch.int64)],
        "i64 jagged on axis 1, [] in part 0, i64 rows of [3] in part 1",
    ),
    "ragged axis": (
        [jagged_on_2([[1], [2]]), jagged([1], [2, 3])],
        "i64 jagged on axis 2, [2] in part 0, i64 jagged on axis 1, [] in part 1",
    ),
    "size beside the ragged axis": (
        [jagged_on_2([[1], [2]]), jagged_on_2([[1], [2], [3]])],
        "i64 jagged on axis 2, [2] in part 0, i64 jagged on axis 2, [3] in part 1",
    ),
}


@pytest.mark.parametrize(("tensors", "actual"), MISMATCHES.values(), ids=MISMATCHES.keys())
def test_tensors_have_one_dtype_layout_and_row_shape(tensors: list[torch.Tensor], actual: str) -> None:
    with refuses("concat", f"BP042 parts  x  {actual}; one dtype, layout and row shape"):
        DataProto.concat([part(tensor) for tensor in tensors])


@pytest.mark.parametrize(
    ("columns", "actual"),
    [
        ([np.ones(2), np.ones(2, dtype=np.float32)], "float64 rows of [] in part 0, float32 rows of [] in part 1"),
        ([np.ones(2), [1.0, 1.0]], "float64 rows of [] in part 0, object rows of [] in part 1"),
        ([np.ones((2, 3)), np.ones((2, 4))], "float64 rows of [3] in part 0, float64 rows of [4] in part 1"),
        ([np.array(["ab"]), [1]], "U rows of [] in part 0, object rows of [] in part 1"),
    ],
)
def test_columns_have_one_kind_of_rows(columns: list[Any], actual: str) -> None:
    with refuses("concat", f"BP042 parts  c  {actual}; one kind of rows"):
        DataProto.concat([part(c=cells) for cells in columns])


def test_text_columns_of_different_widths_join() -> None:
    joined = DataProto.concat([part(c=np.array(["a"])), part(c=np.array(["long"]))])

    assert joined.non_tensor_batch["c"].tolist() == ["a", "long"]


def test_every_field_that_differs_is_named() -> None:
    parts = [
        DataProto.from_dict({"a": torch.ones(1), "ok": torch.ones(1), "b": torch.ones(1)}, {"c": ["x"]}, {"k": 1}),
        DataProto.from_dict(
            {"a": torch.ones(1, 2), "ok": torch.ones(1), "b": torch.ones(1).bool()}, {"c": np.ones(1)}, {"k": 1}
        ),
    ]

    with refuses(
        "concat",
        "BP042 parts  a  f32 rows of [] in part 0, f32 rows of [2] in part 1; one dtype, layout and row shape",
        "BP042 parts  b  f32 rows of [] in part 0, bool rows of [] in part 1; one dtype, layout and row shape",
        "BP042 parts  c  object rows of [] in part 0, float64 rows of [] in part 1; one kind of rows",
    ):
        DataProto.concat(parts)


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
