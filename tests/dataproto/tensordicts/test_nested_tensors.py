"""Nested tensors made of rows, put one below the other and repaired: their shape says where they are ragged."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS, LENGTHS
from tests.dataproto.support import jagged, jagged_on_2, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

ROWS = [torch.arange(6).reshape(2, 3), torch.zeros(2, 0, dtype=torch.int64), torch.arange(4).reshape(2, 2)]


def test_flat_rows_are_ragged_on_axis_1() -> None:
    made = tu.nested_tensor_from_tensor_list([torch.tensor([1, 2]), torch.tensor([3])])

    assert plain_tensor(made) == plain_tensor(jagged([1, 2], [3]))


@pytest.mark.parametrize("axis", [None, 2])
def test_the_last_axis_is_ragged_where_none_is_said(axis: int | None) -> None:
    made = tu.nested_tensor_from_tensor_list(ROWS, axis)

    assert plain_tensor(made) == plain_tensor(jagged_on_2([[0, 1, 2], [3, 4, 5]], [[], []], [[0, 1], [2, 3]]))
    assert (made.shape[0], made.shape[1], made._ragged_idx) == (3, 2, 2)  # type: ignore[attr-defined]


def test_any_axis_can_be_ragged() -> None:
    rows = [row.t() for row in ROWS]

    first = tu.nested_tensor_from_tensor_list(rows, ragged_idx=1)
    middle = tu.nested_tensor_from_tensor_list([row[None].movedim(1, 0)[..., None] for row in rows], ragged_idx=1)

    assert [row.tolist() for row in first.unbind()] == [row.tolist() for row in rows]
    assert (first._ragged_idx, first.shape[2]) == (1, 2)  # type: ignore[attr-defined]
    assert middle.shape[2:] == (1, 2, 1)


def test_the_gradient_flows_into_the_rows() -> None:
    rows = [torch.ones(2, 1, requires_grad=True), torch.ones(2, 3, requires_grad=True)]

    (tu.nested_tensor_from_tensor_list(rows).values() * 2).sum().backward()

    assert [row.grad.tolist() for row in rows if row.grad is not None] == [[[2], [2]], [[2] * 3, [2] * 3]]


@pytest.mark.parametrize(
    ("rows", "axis", "line"),
    [
        ([], None, "BP042 parts  tensors  no tensors; at least one"),
        ([[1, 2]], None, "BP045 store  tensors  list of 2; tensors alone"),
        ([torch.tensor(1)], None, "BP044 index  ragged_idx  0; rows with an axis"),
        (ROWS, 0, "BP044 index  ragged_idx  0; 1 to 2: the axes of a row, counted with the rows as axis 0"),
        (ROWS, 3, "BP044 index  ragged_idx  3; 1 to 2: the axes of a row, counted with the rows as axis 0"),
        (
            [torch.ones(1), torch.ones(2, dtype=torch.float64)],
            None,
            "BP042 parts  tensors  f32[jagged] in row 0, f64[jagged] in row 1; one dtype, and one shape but for one "
            "ragged axis",
        ),
        (
            [torch.ones(2, 1), torch.ones(3, 1), torch.ones(2)],
            2,
            "BP042 parts  tensors  f32[2, jagged] in row 0, f32[3, jagged] in row 1, f32[2] in row 2; one dtype, and "
            "one shape but for one ragged axis",
        ),
    ],
    ids=["none", "no tensor", "no axis", "axis 0", "axis 3", "dtype", "shape"],
)
def test_rows_that_make_no_nested_tensor_are_refused(rows: Any, axis: int | None, line: str) -> None:
    with refuses("nested_tensor_from_tensor_list", line):
        tu.nested_tensor_from_tensor_list(rows, axis)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_nested_tensors_of_every_layout_are_put_one_below_the_other(layout: str, lengths: list[int]) -> None:
    made = LAYOUTS[layout]
    parts = [made.nested(lengths), made.nested([1, 2]), made.nested(lengths)]

    joined = tu.concat_nested_tensors(parts)

    assert [row.tolist() for row in joined.unbind()] == [row.tolist() for part in parts for row in part.unbind()]
    assert (joined.layout, joined.dtype) == (parts[0].layout, parts[0].dtype)


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ([], "BP042 parts  tensors  no tensors; at least one"),
        ([None], "BP045 store  tensors  None; tensors alone"),
        (
            [jagged([1]), torch.ones(2, 3)],
            "BP045 store  tensors  f32[2, 3] in part 1; nested tensors; torch.cat joins dense ones",
        ),
        (
            [jagged([1]), jagged_on_2([[1], [2]]), jagged([1], dtype=torch.float32)],
            "BP042 parts  tensors  i64 jagged on axis 1, [] in part 0, i64 jagged on axis 2, [2] in part 1, f32 jagged "
            "on axis 1, [] in part 2; one dtype, layout and row shape",
        ),
    ],
    ids=["none", "no tensor", "dense", "unlike"],
)
def test_parts_that_are_unlike_are_named(parts: Any, line: str) -> None:
    with refuses("concat_nested_tensors", line):
        tu.concat_nested_tensors(parts)


def forgotten() -> torch.Tensor:
    """`[batch, 2, jagged]` as tensordict 0.10 unpickles it after consolidating: ragged on axis 1, it says."""
    whole = jagged_on_2([[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10]])
    made = torch.nested.nested_tensor_from_jagged(whole.values(), whole.offsets())
    assert (made._ragged_idx, made.shape[2]) == (1, 5)  # type: ignore[attr-defined]
    return made


def test_position_ids_are_ragged_on_their_last_axis_again() -> None:
    batch = tensors(2, position_ids=forgotten(), other=forgotten())

    assert tu.maybe_fix_3d_position_ids(batch) is None  # type: ignore[func-returns-value]

    fixed = batch["position_ids"]
    assert plain_tensor(fixed) == plain_tensor(jagged_on_2([[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10]]))
    assert fixed.shape[1] == 2
    assert batch["other"]._ragged_idx == 1


def test_what_a_pickle_of_a_consolidated_tensordict_loses_is_found_again() -> None:
    whole = jagged_on_2([[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10]])
    batch = tensors(2, position_ids=whole)

    received = pickle.loads(pickle.dumps(tu.contiguous(batch).consolidate()))
    tu.maybe_fix_3d_position_ids(received)

    assert plain_tensor(received["position_ids"]) == plain_tensor(whole)


@pytest.mark.parametrize(
    "make",
    [
        small,
        lambda: with_meta(position_ids=[1]),
        lambda: tensors(2, position_ids=torch.ones(2, 3, 4)),
        lambda: tensors(2, position_ids=jagged([1], [2])),
        lambda: tensors(2, position_ids=jagged_on_2([[1], [2]], [[3], [4]])),
        lambda: tensors(2, position_ids=LAYOUTS["[len, 2] bf16"].nested([1, 2])),
        lambda: tensors(2, position_ids=LAYOUTS["strided [2, len]"].nested([1, 2])),
    ],
    ids=["none", "meta", "dense", "flat", "right", "ragged on 1", "strided"],
)
def test_everything_else_is_left_as_it_is(make: Callable[[], TensorDict]) -> None:
    batch = make()
    before, entries = shown(batch), {key: batch.get(key) for key in batch.keys()}

    tu.maybe_fix_3d_position_ids(batch.lock_())

    assert shown(batch) == before
    assert all(batch.get(key) is entry for key, entry in entries.items())


def test_position_ids_of_a_locked_tensordict_are_not_changed() -> None:
    batch = tensors(2, position_ids=forgotten()).lock_()
    before = copy.copy(batch["position_ids"]._ragged_idx)

    with refuses(
        "maybe_fix_3d_position_ids", "BP045 store  batch  a locked TensorDict; one that can be written: unlock_()"
    ):
        tu.maybe_fix_3d_position_ids(batch)

    assert batch["position_ids"]._ragged_idx == before
