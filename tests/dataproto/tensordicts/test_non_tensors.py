"""Setting columns and meta: what is a list of rows and what is one value is said by the function, never by a length."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.tensordicts.support import refuses, shown, small, tensors

CELLS: list[list[Any]] = [
    [[], [0.5, 0.8], [0.9]],
    [[1], [2], [3]],
    [[[]], [[1, [2]]], []],
    [{"acc": 1.0}, {"acc": 0.0}, {}],
    [[{"role": "user", "content": "hi"}], [], [{"role": "tool"}, {"role": "user"}]],
    [None, "text", (1, 2)],
    ["same", "same", "same"],
]


def three() -> TensorDict:
    return tensors(3, obs=torch.arange(3))


@pytest.mark.parametrize("cells", CELLS, ids=repr)
@pytest.mark.parametrize("rows", [3, 1])
def test_a_stack_holds_one_cell_per_row_as_it_was_given(cells: list[Any], rows: int) -> None:
    batch = three()[:rows]

    tu.assign_non_tensor_stack(batch, "cells", cells[:rows])

    assert type(batch.get("cells")) is NonTensorStack
    assert tu.get(batch, "cells") == cells[:rows]
    assert [type(cell) for cell in tu.get(batch, "cells")] == [type(cell) for cell in cells[:rows]]
    assert list(batch["cells"]) == cells[:rows]


@pytest.mark.parametrize("cells", CELLS, ids=repr)
def test_a_stack_needs_no_batch_axis(cells: list[Any]) -> None:
    batch = TensorDict({}, batch_size=[])

    tu.assign_non_tensor_stack(batch, "cells", cells)

    assert tu.get(batch, "cells") == cells
    assert batch.batch_size == ()


@pytest.mark.parametrize("cells", [[], np.empty(0, dtype=np.float32)], ids=["objects", "numbers"])
def test_a_stack_of_no_rows_is_a_column(cells: Any) -> None:
    batch = three()[:0]

    tu.assign_non_tensor_stack(batch, "cells", cells)

    assert shown(batch)["cells"] == ("column", "[]")
    assert tu.get(batch, "cells") == []
    assert tu.unwrap_non_tensor_data(batch.get("cells")) is batch.get("cells")


def test_the_given_list_is_left_as_it_is_and_its_cells_are_shared() -> None:
    cells: list[Any] = [{"a": 1}, [2], None]
    before, batch = copy.deepcopy(cells), three()

    tu.assign_non_tensor_stack(batch, "cells", cells)
    batch["cells"][0]["a"] = 9

    assert cells[0] == {"a": 9}
    assert cells[1:] == before[1:]


def test_a_numeric_array_keeps_its_kind_on_the_way_into_a_dataproto() -> None:
    from batchpact.dataproto import DataProto

    batch = three()
    tu.assign_non_tensor_stack(batch, "score", np.array([0.5, 1.5, 2.5], dtype=np.float32))  # type: ignore[arg-type]

    column = DataProto.from_tensordict(batch).non_tensor_batch["score"]

    assert (column.dtype, column.tolist()) == (np.float32, [0.5, 1.5, 2.5])
    assert [type(cell) for cell in tu.get(batch, "score")] == [np.float32] * 3


@pytest.mark.parametrize("value", ["run", [1, 2, 3], {"lr": 0.1}, None, 0.5, (1,), []], ids=repr)
def test_data_is_one_value_whatever_its_length(value: Any) -> None:
    batch = three()

    tu.assign_non_tensor_data(batch, "meta", value)

    assert type(batch.get("meta")) is NonTensorData
    assert batch.get("meta").batch_size == (3,)
    assert tu.get(batch, "meta") == tu.get_non_tensor_data(batch, "meta", default="other") == value
    assert type(tu.get(batch, "meta")) is type(value)
    assert tu.get(batch[:1], "meta") == value


def test_a_value_that_is_wrapped_already_is_not_wrapped_twice() -> None:
    batch = three()

    tu.assign_non_tensor_data(batch, "meta", NonTensorData(data=[1, 2, 3]))

    assert tu.get(batch, "meta") == [1, 2, 3]


def test_several_are_set_at_once_by_their_kind() -> None:
    batch = three()

    returned = tu.assign_non_tensor(
        batch,
        step=3,
        name="grpo",
        turns=[[], [1], [1, 2]],
        token_num=NonTensorData(data=[7, 8, 9]),
        uid=NonTensorStack("a", "b", "c"),
        options={"n": [1, 2, 3]},
        three=(1, 2, 3),
    )

    assert returned is batch
    assert shown(batch) == {
        "obs": shown(three())["obs"],
        "step": ("meta", "3"),
        "name": ("meta", "'grpo'"),
        "turns": ("column", "[[], [1], [1, 2]]"),
        "token_num": ("meta", "[7, 8, 9]"),
        "uid": ("column", "['a', 'b', 'c']"),
        "options": ("meta", "{'n': [1, 2, 3]}"),
        "three": ("meta", "(1, 2, 3)"),
    }


def test_what_stood_under_a_name_is_replaced_whatever_it_was() -> None:
    batch = small()

    tu.assign_non_tensor(batch, ids="meta now", uid=4, step=[1, 2, 3, 4])

    assert {key: shown(batch)[key] for key in ("ids", "uid", "step")} == {
        "ids": ("meta", "'meta now'"),
        "uid": ("meta", "4"),
        "step": ("column", "[1, 2, 3, 4]"),
    }


def test_a_column_is_not_shared_with_the_stack_that_was_given() -> None:
    given = NonTensorStack("a", "b", "c")
    batch = tu.assign_non_tensor(three(), uid=given)

    batch["uid"][0] = "z"

    assert given.tolist() == ["a", "b", "c"]


def test_all_columns_that_do_not_fit_are_named_and_nothing_is_set() -> None:
    batch = small()
    before = shown(batch)

    with refuses(
        "assign_non_tensor",
        "BP016 rows  x  1 value; one for each of 4 rows",
        "BP016 rows  y  5 values; one for each of 4 rows",
    ):
        tu.assign_non_tensor(batch, k=1, x=[0], uid=["a", "b", "c", "d"], y=[1, 2, 3, 4, 5])

    assert shown(batch) == before


@pytest.mark.parametrize(
    ("assign", "lines"),
    [
        (lambda batch: tu.assign_non_tensor(batch, k=1), ["assign_non_tensor"]),
        (lambda batch: tu.assign_non_tensor_data(batch, "k", 1), ["assign_non_tensor_data"]),
        (lambda batch: tu.assign_non_tensor_stack(batch, "k", [1, 2, 3, 4]), ["assign_non_tensor_stack"]),
    ],
    ids=["both", "data", "stack"],
)
def test_a_locked_tensordict_and_anything_else_are_left_alone(assign: Any, lines: list[str]) -> None:
    with refuses(*lines, "BP045 store  batch  a locked TensorDict; one that can be written: unlock_()"):
        assign(small().lock_())
    with refuses(
        *lines,
        "BP045 store  batch  dict of 0; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one",
    ):
        assign({})


@pytest.mark.parametrize(
    ("assign", "function", "line"),
    [
        (
            lambda batch: tu.assign_non_tensor_stack(batch, "uid", "abcd"),
            "assign_non_tensor_stack",
            "BP045 store  uid  str; a column is a list or a numpy array with one value per row; one value for the "
            "batch goes into meta_info",
        ),
        (
            lambda batch: tu.assign_non_tensor_stack(batch, "uid", torch.arange(4)),
            "assign_non_tensor_stack",
            "BP045 store  uid  tensor i64[4]; a tensor goes into tensors, not into non_tensors",
        ),
        (
            lambda batch: tu.assign_non_tensor_data(batch, "uid", NonTensorStack("a", "b", "c", "d")),
            "assign_non_tensor_data",
            "BP045 store  uid  a NonTensorStack, which is a column; one value for the batch",
        ),
        (
            lambda batch: tu.assign_non_tensor_data(batch, 5, 1),
            "assign_non_tensor_data",
            "BP045 store  5  int 5; a TensorDict has strings as names",
        ),
    ],
    ids=["text", "tensor", "stack as data", "name"],
)
def test_what_is_neither_is_refused(assign: Any, function: str, line: str) -> None:
    batch = small()
    before = shown(batch)

    with refuses(function, line):
        assign(batch)

    assert shown(batch) == before


def test_only_data_is_unwrapped() -> None:
    stack, tensor = NonTensorStack("a"), torch.ones(1)

    assert tu.unwrap_non_tensor_data(NonTensorData(data={"a": 1})) == {"a": 1}
    assert tu.unwrap_non_tensor_data(stack) is stack
    assert tu.unwrap_non_tensor_data(tensor) is tensor
    assert tu.unwrap_non_tensor_data(None) is None


def test_meta_is_looked_up_with_a_default_and_other_fields_come_as_they_are() -> None:
    batch = small()

    assert tu.get_non_tensor_data(batch, "step", default=0) == 3
    assert tu.get_non_tensor_data(batch, "stop", default=0) == 0
    assert tu.get_non_tensor_data(data=batch, key="stop", default=None) is None
    assert tu.get_non_tensor_data(batch, "ids", None) is batch["ids"]
    assert type(tu.get_non_tensor_data(batch, "uid", None)) is NonTensorStack
