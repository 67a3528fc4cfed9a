"""A `TensorDict` of rows: every row has all fields, and a tensor never becomes an object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.support import jagged, jagged_on_2, plain_tensor
from tests.dataproto.tensordicts.support import refuses, shown

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


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
