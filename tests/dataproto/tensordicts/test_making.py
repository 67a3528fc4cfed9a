"""A `TensorDict` of dicts, of rows, and one without gaps in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import DataProto
from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.support import jagged, jagged_on_2, plain, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

# --- of dicts ---------------------------------------------------------------------------------------------------------


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
            "BP016 rows  batch  [3] in x, [2] in y; all tensors share their batch axes",
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
        ({"x": torch.tensor(1)}, {}, "BP045 store  x  i64[]; 1 leading batch axes"),
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


# --- of rows ----------------------------------------------------------------------------------------------------------


def test_rows_become_tensors_of_one_shape_jagged_ones_and_columns() -> None:
    rows = [
        {
            "x": torch.arange(2) + at,
            "ids": torch.arange(at),
            "deep": torch.full((2, at), at),
            "uid": f"u{at}",
            "l": [at] * at,
        }
        for at in range(3)
    ]

    batch = tu.list_of_dict_to_tensordict(rows)

    assert batch.batch_size == (3,)
    assert shown(batch) == {
        "x": ("tensor", plain_tensor(torch.tensor([[0, 1], [1, 2], [2, 3]]))),
        "ids": ("tensor", plain_tensor(jagged([], [0], [0, 1]))),
        "deep": ("tensor", plain_tensor(jagged_on_2([[], []], [[1], [1]], [[2, 2], [2, 2]]))),
        "uid": ("column", "['u0', 'u1', 'u2']"),
        "l": ("column", "[[], [1], [2, 2]]"),
    }
    assert batch["deep"].shape[1] == 2


def test_rows_that_are_ragged_on_their_first_axis_stay_so() -> None:
    batch = tu.list_of_dict_to_tensordict([{"x": torch.ones(1, 2)}, {"x": torch.ones(3, 2)}])

    assert plain_tensor(batch["x"]) == plain_tensor(
        torch.nested.nested_tensor_from_jagged(torch.ones(4, 2), torch.tensor([0, 1, 4]))
    )


def test_one_row_scalars_and_cells_that_are_dicts_are_rows_too() -> None:
    batch = tu.list_of_dict_to_tensordict([{"x": torch.tensor(1.5), "d": {"a": []}, "n": None, "a": np.arange(2)}])

    assert batch["x"].tolist() == [1.5]
    assert (tu.get(batch, "d"), tu.get(batch, "n")) == ([{"a": []}], [None])
    assert [cell.tolist() for cell in tu.get(batch, "a")] == [[0, 1]]


def test_the_gradient_flows_into_the_rows() -> None:
    short, long = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True)

    batch = tu.list_of_dict_to_tensordict([{"x": short}, {"x": long}])
    (batch["x"].values() * 3).sum().backward()

    assert short.grad is not None and long.grad is not None
    assert (short.grad.tolist(), long.grad.tolist()) == ([3], [3, 3])


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([], ["BP042 parts  list_of_dicts  no rows; at least one"]),
        # Case M3: the same in both orders.
        (
            [{"score": 1, "acc": 1}, {"score": 1}, {"acc": 1, "score": 1}],
            ["BP042 parts  acc  not in row 1; every row has the same fields"],
        ),
        (
            [{"score": 1}, {"score": 1, "acc": 1}, {"pred": 2, "score": 1}],
            [
                "BP042 parts  acc   not in rows 0, 2; every row has the same fields",
                "BP042 parts  pred  not in rows 0, 1; every row has the same fields",
            ],
        ),
        (
            [{"x": torch.ones(2), "y": None}, {"x": None, "y": None}, {"x": torch.ones(1), "y": torch.ones(1)}],
            [
                "BP042 parts  x  a tensor in rows 0, 2, None in row 1; a tensor in every row or in none",
                "BP042 parts  y  a tensor in row 2, None in rows 0, 1; a tensor in every row or in none",
            ],
        ),
        (
            [{"x": torch.ones(2)}, {"x": torch.ones(2, dtype=torch.int64)}],
            ["BP042 parts  x  f32[2] in row 0, i64[2] in row 1; one dtype, and one shape but for one ragged axis"],
        ),
        (
            [{"x": torch.ones(2, 1)}, {"x": torch.ones(1, 2)}, {"x": torch.ones(2)}],
            [
                "BP042 parts  x  f32[2, 1] in row 0, f32[1, 2] in row 1, f32[2] in row 2; one dtype, and one shape but "
                "for one ragged axis"
            ],
        ),
        (
            [{"x": torch.ones(2)}, {"x": torch.ones(3, dtype=torch.int64)}],
            [
                "BP042 parts  x  f32[jagged] in row 0, i64[jagged] in row 1; one dtype, and one shape but for one "
                "ragged axis"
            ],
        ),
        ([{3: 1}], ["BP045 store  3  int 3; a TensorDict has strings as names"]),
    ],
    ids=["none", "lacking", "lacking first", "mixed", "dtype", "shape", "jagged dtype", "name"],
)
def test_rows_that_do_not_fit_together_are_refused_with_their_numbers(rows: Any, lines: list[str]) -> None:
    with refuses("list_of_dict_to_tensordict", *lines):
        tu.list_of_dict_to_tensordict(rows)


# --- without gaps -----------------------------------------------------------------------------------------------------


def test_tensors_without_gaps_are_not_copied_and_the_rest_is_an_own_one() -> None:
    batch = small()

    made = tu.contiguous(batch)

    assert made is not batch
    assert shown(made) == shown(small())
    assert made["ids"].data_ptr() == batch["ids"].data_ptr()
    tu.assign_non_tensor(made, step=0)
    assert tu.get(batch, "step") == 3


def test_a_tensor_with_gaps_is_written_out() -> None:
    matrix = torch.arange(12).reshape(4, 3)

    made = tu.contiguous(tensors(4, x=matrix[:, :2], y=TensorDict({"z": matrix.t()[:, :4].t()}, batch_size=[4])))

    assert made["x"].is_contiguous() and made["y", "z"].is_contiguous()
    assert made["x"].tolist() == matrix[:, :2].tolist()
    assert made["y", "z"].tolist() == matrix.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nested_tensors_of_every_layout_have_no_gaps_then(layout: str) -> None:
    field = LAYOUTS[layout].nested([2, 0, 3, 1])

    made = tu.contiguous(tensors(4, x=field))["x"]

    assert made.is_contiguous()
    assert plain_tensor(made) == plain_tensor(field)
    if made.layout is torch.jagged:
        assert made.lengths() is None
        assert made.values().is_contiguous()


def test_fields_that_share_their_offsets_share_them_then() -> None:
    flat = jagged([1], [2, 3])
    twin = torch.nested.nested_tensor_from_jagged(flat.values() * 2, flat.offsets())

    made = tu.contiguous(tensors(2, x=flat, y=twin))

    assert plain_tensor(made["x"] + made["y"]) == plain_tensor(jagged([3], [6, 9]))


def test_batch_size_and_device_stay() -> None:
    batch = TensorDict({"k": NonTensorData(data=1)}, batch_size=[3], device="cpu")

    assert tu.contiguous(batch).batch_size == (3,)
    assert tu.contiguous(batch).device == torch.device("cpu")
    assert tu.contiguous(with_meta(k=1)).batch_size == ()


def test_anything_else_has_no_gaps_to_close() -> None:
    with refuses(
        "contiguous",
        "BP045 store  batch  f32[1]; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one",
    ):
        tu.contiguous(torch.ones(1))  # type: ignore[arg-type]
