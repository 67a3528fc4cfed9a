"""Joining plain stores: in place, all or nothing, by the container's own equality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import column, union_numpy_dict, union_tensor_dict
from tests.dataproto.support import function_refuses


def tensors(rows: int = 2, **values: Any) -> TensorDict:
    return TensorDict(values, batch_size=[rows])


def test_tensors_are_joined_in_place() -> None:
    left, right = tensors(x=torch.arange(2)), tensors(x=torch.arange(2), y=torch.ones(2))

    assert union_tensor_dict(left, right) is left

    assert set(left.keys()) == {"x", "y"}
    assert left["y"] is right["y"]
    assert set(right.keys()) == {"x", "y"}


def test_nan_equals_nan() -> None:
    values = torch.tensor([float("nan"), 1.0])

    union_tensor_dict(tensors(x=values), tensors(x=values.clone()))
    union_numpy_dict({"c": column([{"a": float("nan")}])}, {"c": column([{"a": float("nan")}])})


def test_tensors_that_differ_are_all_named_and_nothing_is_joined() -> None:
    left = tensors(x=torch.arange(2), y=torch.arange(2))

    with function_refuses(
        "union_tensor_dict",
        "BP041 conflict  y  the sides differ: 1 element differs by up to 2, first in row 1; equal values",
        "BP041 conflict  x  the sides differ: i64[2] against f32[2]; equal values",
    ):
        union_tensor_dict(left, tensors(z=torch.ones(2), y=torch.tensor([0, 3]), x=torch.ones(2)))

    assert set(left.keys()) == {"x", "y"}


def test_batch_sizes_are_equal() -> None:
    with function_refuses(
        "union_tensor_dict", "BP016 rows  batch  batch size [2] on the left, [3] on the right; one batch size"
    ):
        union_tensor_dict(tensors(x=torch.ones(2)), tensors(3, y=torch.ones(3)))


def test_a_locked_tensordict_is_left_alone() -> None:
    left = tensors(x=torch.ones(2)).lock_()

    assert union_tensor_dict(left, tensors(x=torch.ones(2))) is left
    with function_refuses(
        "union_tensor_dict",
        "BP045 store  tensor_dict1  a locked TensorDict; one that can be written: tensor_dict1.unlock_()",
    ):
        union_tensor_dict(left, tensors(y=torch.ones(2)))


def test_columns_are_joined_in_place() -> None:
    left, right = {"a": column([[1], None])}, {"a": column([[1], None]), "b": np.arange(2)}

    assert union_numpy_dict(left, right) is left

    assert left["b"] is right["b"]
    assert list(left) == ["a", "b"]


@pytest.mark.parametrize(
    ("left", "right", "line"),
    [
        (
            {"a": column([{"k": [1, 2]}])},
            {"b": column("x"), "a": column([{"k": [1, 3]}])},
            "BP041 conflict  a  the sides differ: [0]['k'][1]: 2 against 3; equal values",
        ),
        (
            {"a": np.arange(2)},
            {"b": [1, 2]},
            "BP045 store  b  list of 2; a numpy array; batchpact.dataproto.column(values) makes one",
        ),
    ],
)
def test_columns_that_cannot_be_joined_change_nothing(left: Any, right: Any, line: str) -> None:
    with function_refuses("union_numpy_dict", line):
        union_numpy_dict(left, right)

    assert list(left) == ["a"]
