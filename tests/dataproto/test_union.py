"""Union: the same rows, one place for one name, equal values; or an error that says what differs where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import DataProto
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import jagged, plain, refuses, small


def tensor(**tensors: torch.Tensor) -> DataProto:
    return DataProto.from_dict(tensors)


def columns(**cells: Any) -> DataProto:
    return DataProto.from_dict(non_tensors=cells)


def meta(**values: Any) -> DataProto:
    return DataProto(meta_info=values)


# --- what joins -------------------------------------------------------------------------------------------------------


def test_union_adds_the_fields_of_the_other_in_place() -> None:
    data, values = small(), torch.ones(4, 2)
    other = DataProto.from_dict({"values": values}, {"tool": ["t"] * 4}, {"step": 3})
    before = plain(other)

    assert data.union(other) is data

    assert data.batch is not None
    assert data.batch["values"] is values
    assert plain(data) == {**plain(small()), **before}
    assert plain(other) == before


@pytest.mark.parametrize(
    "other",
    [
        small(),
        tensor(reward=torch.tensor([0.5, -1.0, float("nan"), 2.0])),
        columns(score=np.array([1.5, 2.5, 3.5, 4.5], dtype=np.float32)),
        columns(uid=["a", "b", "c", "d"]),
        meta(stop=["x", "y", "z", "w"]),
        DataProto(),
    ],
    ids=["all", "NaN", "numeric column", "objects", "meta", "nothing"],
)
def test_equal_values_join(other: DataProto) -> None:
    assert plain(small().union(other)) == plain(small())


def test_equality_is_structural() -> None:
    def cells() -> DataProto:
        return DataProto.from_dict(
            {"flat": jagged([1, 2], [3])},
            {"cells": [{"a": [np.array([1.0, np.nan]), None]}, {"b": torch.arange(2)}]},
            {"config": {"nested": [1, {"x": torch.tensor(float("nan"))}]}},
        )

    assert cells().union(cells()) == cells()


def test_identical_memory_is_not_compared() -> None:
    """On the meta device there is nothing to compare."""
    shared = torch.ones(2, 3, device="meta")

    assert len(tensor(x=shared).union(tensor(x=shared))) == 2
    assert len(tensor(x=shared).union(tensor(x=shared.view(2, 3)))) == 2


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_side_without_columns_joins_any(rows: int) -> None:
    full, empty = tensor(x=torch.ones(rows)), meta(k=1)

    assert len(empty.union(full)) == rows
    assert len(full.union(meta(k=1))) == rows
    assert empty == full


def test_a_batch_whose_tensors_were_popped_joins_other_rows() -> None:
    data = tensor(x=torch.ones(2))
    data.pop(["x"])

    assert len(data.union(tensor(y=torch.ones(5)))) == 5
    assert len(tensor(x=torch.ones(2)).select([]).union(columns(uid=["a", "b", "c"]))) == 3


# --- conflicts --------------------------------------------------------------------------------------------------------

CONFLICTS: dict[str, tuple[DataProto, DataProto, str]] = {
    "deviation": (
        tensor(x=torch.tensor([1.0, 2.0, 3.0])),
        tensor(x=torch.tensor([1.0, 2.25, 2.0])),
        "BP041 conflict  x  the sides differ: 2 elements differ by up to 1, first in row 1; equal values, or "
        "on_conflict='left' or 'right'",
    ),
    "recomputed": (
        tensor(x=torch.zeros(2, 2, dtype=torch.float64)),
        tensor(x=torch.tensor([[0, 0], [0, 1e-6]], dtype=torch.float64)),
        "BP041 conflict  x  the sides differ: 1 element differs by up to 1e-06, first in row 1; equal values, or "
        "on_conflict='left' or 'right'",
    ),
    "dtype": (
        tensor(x=torch.ones(2)),
        tensor(x=torch.ones(2, dtype=torch.bfloat16)),
        "BP041 conflict  x  the sides differ: f32[2] against bf16[2]; equal values, or on_conflict='left' or 'right'",
    ),
    "shape": (
        tensor(x=torch.ones(2)),
        tensor(x=torch.ones(2, 1)),
        "BP041 conflict  x  the sides differ: f32[2] against f32[2, 1]; equal values, or on_conflict='left' or 'right'",
    ),
    "layout": (
        tensor(x=torch.ones(2, 1)),
        tensor(x=jagged([1.0], [1.0], dtype=torch.float32)),
        "BP041 conflict  x  the sides differ: f32[2, 1] against f32[2, jagged]; equal values, or on_conflict='left' or "
        "'right'",
    ),
    "lengths": (
        tensor(x=jagged([1], [2, 3])),
        tensor(x=jagged([1, 2], [3])),
        "BP041 conflict  x  the sides differ: other row lengths; equal values, or on_conflict='left' or 'right'",
    ),
    "cell": (
        columns(x=[{"a": [1, 2]}, {"a": [3, {"b": 4}]}]),
        columns(x=[{"a": [1, 2]}, {"a": [3, {"b": 5}]}]),
        "BP041 conflict  x  the sides differ: [1]['a'][1]['b']: 4 against 5; equal values, or on_conflict='left' or "
        "'right'",
    ),
    "kind of column": (
        columns(x=np.array([1, 2])),
        columns(x=[1, 2]),
        "BP041 conflict  x  the sides differ: int64[2] against 2 objects; equal values, or on_conflict='left' or "
        "'right'",
    ),
    "meta": (
        meta(x=[1, "a"]),
        meta(x=[1, "b"]),
        "BP041 conflict  x  the sides differ: [1]: 'a' against 'b'; equal values, or on_conflict='left' or 'right'",
    ),
    "a step": (
        meta(x=1),
        meta(x=True),
        "BP041 conflict  x  the sides differ: int 1 against bool True; equal values, or on_conflict='left' or 'right'",
    ),
}


@pytest.mark.parametrize(("left", "right", "line"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_a_conflict_says_where_the_sides_differ(left: DataProto, right: DataProto, line: str) -> None:
    """Case T5: the largest difference and the first row."""
    before = plain(left), plain(right)

    with refuses("union", line):
        left.union(right)

    assert (plain(left), plain(right)) == before


@pytest.mark.parametrize(("left", "right", "line"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_on_conflict_says_which_side_counts(left: DataProto, right: DataProto, line: str) -> None:
    assert plain(left.select().union(right, on_conflict="left")) == plain(left)
    assert plain(left.select().union(right, on_conflict="right")) == plain(right)


def test_all_conflicts_are_named_and_nothing_is_joined() -> None:
    """Case A3: a union that fails has joined nothing."""
    left = DataProto.from_dict({"x": torch.zeros(2), "a": torch.zeros(2)}, {"uid": ["a", "b"]}, {"step": 1})
    right = DataProto.from_dict({"x": torch.ones(2), "y": torch.ones(2)}, {"uid": ["a", "c"], "a": [1, 2]}, {"step": 2})
    left._writers = {"x": "rollout"}
    before = plain(left)

    with refuses(
        "union",
        "BP041 conflict  x     the sides differ: 2 elements differ by up to 1, first in row 0 (left written by "
        "'rollout'); equal values, or on_conflict='left' or 'right'",
        "BP041 conflict  uid   the sides differ: [1]: 'b' against 'c'; equal values, or on_conflict='left' or 'right'",
        "BP045 store     a     in batch on the left, in non_tensor_batch on the right; one place for one name",
        "BP041 conflict  step  the sides differ: 1 against 2; equal values, or on_conflict='left' or 'right'",
    ):
        left.union(right)

    assert plain(left) == before
    assert left.history() == {"x": "written by 'rollout'"}


@pytest.mark.parametrize("on_conflict", ["left", "right"])
def test_a_name_in_two_places_is_a_conflict_that_no_side_wins(on_conflict: Any) -> None:
    left, right = tensor(temperature=torch.ones(2)), meta(temperature=1.0)

    with refuses(
        "union",
        "BP045 store  temperature  in batch on the left, in meta_info on the right; one place for one name",
    ):
        left.union(right, on_conflict=on_conflict)


# --- what a stage rewrites --------------------------------------------------------------------------------------------


def written(**fields: torch.Tensor) -> DataProto:
    result = tensor(**fields)
    result._writers, result._rewrites = dict.fromkeys(fields, "whiten"), frozenset(fields)
    return result


def test_what_a_stage_rewrites_replaces_what_stood_there() -> None:
    data = small()
    data._writers = {"reward": "score", "ids": "rollout"}

    data.union(written(reward=torch.arange(4)))

    assert data.batch is not None
    assert data.batch["reward"].tolist() == [0, 1, 2, 3]
    assert data.history() == {"reward": "written by 'whiten'", "ids": "written by 'rollout'"}


def test_a_rewrite_may_move_a_field_to_another_store() -> None:
    data = small()

    data.union(written(uid=torch.arange(4), temperature=torch.ones(4)))

    assert [list(store) for store in data.stores()[:3]] == [
        ["ids", "reward", "uid", "temperature"],
        ["score"],
        ["stop"],
    ]
    data.check_consistency()


def test_a_rewrite_survives_the_way_through_workers() -> None:
    """Cut, sent, put together: what the parts rewrite, the whole does."""
    result = written(reward=torch.arange(4))

    assert small().union(DataProto.concat(result.chunk(2))).last_writer("reward") == "whiten"
    assert small().union(result[[0, 1, 2, 3]].select(["reward"])).last_writer("reward") == "whiten"


def test_what_a_stage_does_not_rewrite_is_compared() -> None:
    result = written(reward=torch.arange(4))
    assert result.batch is not None
    result.batch["ids"] = torch.ones(4, 2, dtype=torch.int64)

    with refuses(
        "union",
        "BP041 conflict  ids  the sides differ: 7 elements differ by up to 6, first in row 0; equal values, or "
        "on_conflict='left' or 'right'",
    ):
        small().union(result)


def test_pad_marks_of_the_other_side_are_taken_over() -> None:
    left, right = small(), tensor(y=torch.arange(4))
    right._marks = RowMarks(pads=np.array([False, False, False, True]))

    assert left.union(right)._marks.pads is right._marks.pads
    assert left.union(tensor(z=torch.arange(4)))._marks.pads is right._marks.pads
