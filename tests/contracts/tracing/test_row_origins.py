"""Rows are known again by what is in them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from batchpact.contracts.tracing.row_origins import origin_by_values
from batchpact.dataproto import DataProto
from batchpact.schemas.stores import Stores

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def batch(ids: list[int], uids: str, **more: Tensor) -> Stores:
    return DataProto.from_dict({"ids": torch.tensor(ids), **more}, {"uid": [*uids]}).stores()


def found(before: Stores, after: Stores) -> list[int] | None:
    origin = origin_by_values(before, after)
    return None if origin is None else origin.tolist()


@pytest.mark.parametrize(
    ("ids", "uids", "expected"),
    [
        ([3, 2, 1], "cba", [2, 1, 0]),
        ([1, 3], "ac", [0, 2]),
        ([1, 1], "aa", [0, 0]),
        ([3, 2, 1], "abc", None),
        ([1, 4], "ac", None),
    ],
)
def test_rows_are_found_where_every_field_agrees(ids: list[int], uids: str, expected: list[int] | None) -> None:
    assert found(batch([1, 2, 3], "abc"), batch(ids, uids)) == expected


def test_of_rows_that_are_alike_each_is_taken_once() -> None:
    """A permutation stays one."""
    assert found(batch([1, 1, 2], "aab"), batch([2, 1, 1], "baa")) == [2, 0, 1]


def test_chance_is_no_origin() -> None:
    alike, single = batch([1, 1], "aa"), Stores({"ids": torch.tensor([0, 1])}, {}, {})

    assert found(alike, batch([1], "a")) is None
    assert found(single, Stores({"ids": torch.tensor([1, 0])}, {}, {})) is None
    assert found(batch([1, 2], "ab"), Stores({"other": torch.zeros(2)}, {}, {})) is None


def test_a_field_that_stays_the_object_that_it_was_was_not_moved() -> None:
    before = batch([1, 2], "ab")

    assert found(before, before._replace(columns={"uid": np.array(["b", "a"], dtype=object)})) is None


def test_values_of_every_kind_tell_rows_apart() -> None:
    half = torch.tensor([1.0, float("nan"), 2.0], dtype=torch.bfloat16)
    rows = torch.nested.nested_tensor([torch.zeros(2), torch.ones(1), torch.ones(3)], layout=torch.jagged)
    before = DataProto.from_dict({"half": half, "rows": rows, "flag": torch.tensor([True, False, True])})

    assert found(before.stores(), before[[2, 1]].stores()) == [2, 1]
