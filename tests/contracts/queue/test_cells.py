"""Which cells come back from TransferQueue as they went in."""

from __future__ import annotations

import dataclasses
import datetime
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.contracts.queue.cells import misfits, values_of
from batchpact.dataproto import column, equal


@dataclasses.dataclass
class Point:
    x: int


class Plain:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain)

    def __hash__(self) -> int:
        return 0


KEPT = [
    None,
    True,
    7,
    -(2**63),
    1.5,
    "x",
    b"x",
    [],
    [1, ["a"]],
    {},
    {"a": {1: [None]}},
    np.arange(2),
    np.float32(1),
    torch.ones(2),
    Plain(),
    Path("x"),
    np.float64(1),
    2**64,
    {(1, 2): 3},
]
CHANGED = [
    ((1, 2), "tuple in row 0"),
    ([1, (2,)], "tuple at [1] in row 0"),
    ({"a": [{"b": {1}}]}, "set at ['a'][0]['b'] in row 0"),
    ({frozenset(): 3}, "dict with the key frozenset() in row 0"),
    (OrderedDict(a=1), "OrderedDict in row 0"),
    (Point(1), "Point in row 0"),
    ((np.arange(2),), "tuple in row 0"),
    (datetime.date(2024, 1, 1), "date in row 0"),
]


@pytest.mark.parametrize("cell", KEPT, ids=repr)
def test_these_come_back(cell: Any) -> None:
    assert list(misfits({"c": column([cell])}, "non_tensor")) == []


@pytest.mark.parametrize(("cell", "actual"), CHANGED)
def test_these_come_back_as_something_else(cell: Any, actual: str) -> None:
    (found,) = misfits({"c": column([cell])}, "tag")

    assert (found.code, found.field, found.placement, found.actual) == ("BP055", "c", "tag", actual)


def test_numeric_columns_are_pythons_own_values() -> None:
    assert [type(value) for value in values_of(np.arange(2, dtype=np.float32))] == [float, float]
    assert values_of(np.array([True, False])) == [True, False]


@pytest.mark.peers
@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.parametrize("cell", [*KEPT, *(cell for cell, _ in CHANGED)], ids=repr)
def test_transfer_queue_does_what_is_said_of_it(queue: Any, partition: str, cell: Any) -> None:
    entry = NonTensorStack(*[NonTensorData(data=cell), NonTensorData(data="other")])
    kept = not list(misfits({"c": column([cell])}, "non_tensor"))
    try:
        queue.kv_batch_put(["a", "b"], partition, TensorDict({"c": entry}, batch_size=[2]))
        found = queue.kv_batch_get(["a", "b"], partition)["c"].tolist()[0]
    except Exception:  # what msgpack cannot encode at all
        assert not kept
        return

    assert kept == (type(found) is type(cell) and equal(column([found]), column([cell])))
