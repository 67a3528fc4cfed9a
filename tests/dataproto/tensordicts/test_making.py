"""A `TensorDict` of dicts: what is a tensor, a column and meta, and what is none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack

from batchpact.dataproto import DataProto
from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.support import jagged, jagged_on_2, plain, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown, small, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def test_tensors_columns_and_meta_get_their_entries() -> None:
    batch = tu.get_tensordict(
        {"obs": torch.arange(6).reshape(3, 2), "flat": jagged([1], [], [2]), "uid": ["a", "b", "c"]},
        {"name": "grpo", "three": [1, 2, 3]},
    )

    assert batch.batch_size == (3,)
    assert shown(batch) == {
        "obs": ("tensor", plain_tensor(torch.arange(6).reshape(3, 2))),
        "flat": ("tensor", plain_tensor(jagged([1], [], [2]))),
        "uid": ("column", "['a', 'b', 'c']"),
        "name": ("meta", "'grpo'"),
        "three": ("meta", "[1, 2, 3]"),
    }


def test_the_given_dicts_are_left_as_they_are_and_tensors_are_shared() -> None:
    given: dict[str, Any] = {"x": torch.ones(2), "uid": ["a", "b"]}
    meta = {"k": 1}

    batch = tu.get_tensordict(given, meta)

    assert batch["x"] is given["x"]
    assert given["uid"] == ["a", "b"]
    assert (list(given), list(meta)) == (["x", "uid"], ["k"])


def test_an_agent_loop_output_keeps_the_cells_of_every_row() -> None:
    columns: dict[str, list[Any]] = {
        "turn_scores": [[], [0.5, 0.8], [0.9]],
        "tool_rewards": [[[]], [[0.1, [0.2]]], []],
        "reward_extra": [{"acc": 1.0}, {"acc": 0.0, "tags": ["x"]}, {}],
        "messages": [[{"role": "user", "content": "a"}], [], [{"role": "user"}, {"role": "tool", "calls": [{"n": 1}]}]],
        "finish_reason": ["stop", "length", "stop"],
        "num_turns": [2, 4, 6],
    }

    batch = tu.get_tensordict({"response_mask": torch.ones(3, 4), **columns}, {"global_steps": 7})

    assert {key: tu.get(batch, key) for key in columns} == columns
    assert batch[1:2]["reward_extra"] == [{"acc": 0.0, "tags": ["x"]}]
    assert tu.get(batch, "global_steps") == 7


@pytest.mark.parametrize("cells", [[[]], [[1, 2]], [[{"a": 1}]], [{}], [None], ["abc"]], ids=repr)
def test_a_column_of_one_row_is_a_column(cells: list[Any]) -> None:
    batch = tu.get_tensordict({"cells": cells})

    assert batch.batch_size == (1,)
    assert tu.get(batch, "cells") == cells


def test_arrays_keep_their_kind_and_images_stay_arrays() -> None:
    images = [[np.zeros((2, 3), dtype=np.uint8)], [np.ones((1, 1), dtype=np.uint8), np.ones((4, 1), dtype=np.uint8)]]

    batch = tu.get_tensordict({"score": np.array([0.5, 1.5], dtype=np.float32), "images": images})

    assert [type(cell) for cell in tu.get(batch, "score")] == [np.float32] * 2
    assert DataProto.from_tensordict(batch).non_tensor_batch["score"].dtype == np.float32
    assert [[image.shape for image in row] for row in tu.get(batch, "images")] == [[(2, 3)], [(1, 1), (4, 1)]]
    assert batch[0]["images"][0].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_matrix_of_objects_was_meant_as_rows_that_are_lists() -> None:
    matrix = np.array([[1, 2], [3, 4]], dtype=object)

    assert tu.get(tu.get_tensordict({"x": matrix}), "x") == [[1, 2], [3, 4]]


def test_a_stack_is_taken_as_the_column_that_it_is() -> None:
    stack = NonTensorStack(NonTensorData(data=[1]), NonTensorData(data=None))

    batch = tu.get_tensordict({"x": stack, "y": torch.ones(2)})
    batch["x"][0] = "changed"

    assert tu.get(batch, "x") == ["changed", None]
    assert stack.tolist() == [[1], None]


def test_a_tensordict_is_taken_for_the_dict_that_it_is() -> None:
    batch = tu.get_tensordict(small(), {"late": 5})

    assert shown(batch) == {**shown(small()), "late": ("meta", "5")}
    assert shown(tu.get_tensordict(small().select("ids", "uid"))) == {
        key: shown(small())[key] for key in ("ids", "uid")
    }


def test_meta_that_is_wrapped_already_is_taken_as_its_value() -> None:
    assert tu.get(tu.get_tensordict({"x": torch.ones(1)}, {"k": NonTensorData(data=[1])}), "k") == [1]


def test_meta_alone_has_no_batch_axis() -> None:
    batch = tu.get_tensordict({}, {"k": [1, 2]})

    assert (batch.batch_size, len(batch)) == ((), 0)
    assert tu.get(batch, "k") == [1, 2]
    assert tu.get_tensordict({}).batch_size == ()


@pytest.mark.parametrize("fields", [{"x": torch.ones(0, 3)}, {"c": []}, {"x": torch.ones(0), "c": []}], ids=str)
def test_no_row_is_a_number_of_rows(fields: Any) -> None:
    batch = tu.get_tensordict(fields, {"k": 1})

    assert batch.batch_size == (0,)
    assert set(batch.keys()) == {*fields, "k"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_nested_tensors_of_every_layout_are_taken(layout: str, lengths: list[int]) -> None:
    field = LAYOUTS[layout].nested(lengths)

    batch = tu.get_tensordict({"x": field, "uid": [f"u{row}" for row in range(len(lengths))]})

    assert batch.batch_size == (len(lengths),)
    assert batch.get("x") is field


@pytest.mark.parametrize(
    ("fields", "meta", "line"),
    [
        (
            {"x": torch.ones(3), "y": torch.ones(2)},
            {},
            "BP016 rows  batch  3 rows in x, 2 rows in y; all tensors share their batch axis",
        ),
        (
            {"x": torch.ones(3), "u": ["a", "b"]},
            {},
            "BP016 rows  batch  3 rows in the tensors, 2 rows in u; one number of rows in both stores",
        ),
        (
            {"x": jagged([1], [2]), "s": NonTensorStack("a")},
            {},
            "BP016 rows  batch  2 rows in the tensors, 1 row in s; one number of rows in both stores",
        ),
        ({"x": torch.tensor(1)}, {}, "BP045 store  x  i64[]; a batch axis"),
        (
            {"x": [torch.ones(2), torch.ones(3)]},
            {},
            "BP045 store  x  list of 2 with a tensor in row 0; a tensor: torch.stack(rows), or "
            "nested_tensor_from_tensor_list(rows) if their lengths differ",
        ),
        (
            {"x": [None, torch.ones(3)]},
            {},
            "BP045 store  x  list of 2 with a tensor in row 1; a tensor: torch.stack(rows), or "
            "nested_tensor_from_tensor_list(rows) if their lengths differ",
        ),
        (
            {"x": "abc"},
            {},
            "BP045 store  x  str; a tensor, or a list or an array with one value per row; one value for the batch goes "
            "into non_tensor_dict",
        ),
        (
            {"x": NonTensorData(data=3)},
            {},
            "BP045 store  x  NonTensorData; a tensor, or a list or an array with one value per row; one value for the "
            "batch goes into non_tensor_dict",
        ),
        ({"x": torch.ones(2)}, {"x": 1}, "BP045 store  x  in batch and in meta_info; one place for one name"),
        ({"u": ["a"]}, {"u": 1}, "BP045 store  u  in non_tensor_batch and in meta_info; one place for one name"),
        (with_meta(k=1), {"k": 1}, "BP045 store  k  in both dicts; one place for one name"),
        (
            {"x": torch.ones(2)},
            {"u": NonTensorStack("a", "b")},
            "BP045 store  u  a NonTensorStack, which is a column; one value for the batch",
        ),
        ({0: torch.ones(2)}, {}, "BP045 store  0  int 0; a TensorDict has strings as names"),
    ],
    ids=str,
)
def test_what_makes_no_tensordict_is_refused(fields: Any, meta: Any, line: str) -> None:
    with refuses("get_tensordict", line):
        tu.get_tensordict(fields, meta)


def test_a_tensordict_and_a_dataproto_are_made_of_each_other() -> None:
    data = DataProto.from_dict(
        {"x": torch.arange(2), "deep": jagged_on_2([[1]], [[2, 3]])},
        {"uid": ["a", ["b"]], "score": np.array([1, 2], dtype=np.int16)},
        {"k": [1, 2]},
    )

    batch = tu.get_tensordict({**data.batch, **data.non_tensor_batch}, data.meta_info)  # type: ignore[dict-item]

    assert shown(batch) == shown(data.to_tensordict())
    assert plain(DataProto.from_tensordict(batch)) == plain(data)
