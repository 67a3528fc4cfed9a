"""What is kept of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.contracts.tracing.calls import Call, batch_in, is_same, values_in
from batchpact.dataproto import DataProto
from batchpact.schemas.stores import Stores

A, B = torch.rand(2, 3), torch.rand(2, 3)
BATCH = DataProto.from_dict({"a": A})


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (A, A, True),
        (A, A.view(2, 3), True),
        (A, A.clone(), False),
        (A, A[:1], False),
        (torch.zeros(0), torch.zeros(0), False),
        ("a", "a", False),
        (1, 1, False),
        (None, None, False),
        (BATCH, BATCH, True),
    ],
)
def test_two_values_that_are_one(left: object, right: object, same: bool) -> None:
    """A number that is equal by chance is no trace of a field."""
    assert is_same(left, right) is same


@pytest.mark.parametrize(
    ("result", "batches", "values"),
    [
        (BATCH, [BATCH], []),
        ((BATCH, {"loss": 1.0}), [BATCH], []),
        (A, [], [A]),
        ((A, None, B), [], [A, B]),
        ({"a": A, "n": 1}, [], [A]),
        (None, [], []),
    ],
)
def test_what_a_function_returns(result: Any, batches: list[Any], values: list[Any]) -> None:
    assert [found is batch for found, batch in zip(batch_in(result), batches, strict=True)] == [True] * len(batches)
    assert [found is value for found, value in zip(values_in(result), values, strict=True)] == [True] * len(values)


def test_a_result_is_written_under_every_name_that_it_gets() -> None:
    column = np.array(["a", "b"], dtype=object)
    held = Stores({"input": B}, {}, {})
    call = Call("f", "m.f", held, held, loose=[A, column, B, torch.rand(1)])
    call.find_loose(Stores({"x": A, "y": A, "input": B}, {"uid": column}, {}))

    assert call.written.names() == ["x", "y", "uid"]
    assert [value is B for value in call.loose] == [True, False]  # what was there before was not written


def test_calls_that_did_the_same_have_one_shape() -> None:
    def call(*looked: str, drops: tuple[str, ...] = ()) -> Call:
        stores = Stores({"x": torch.rand(2), "y": torch.rand(2)}, {}, {})
        return Call("f", "m.f", stores, stores, looked=list(looked), drops=drops)

    assert call("x", "absent").shape == call("x").shape
    assert call("x").shape != call("x", "y").shape
    assert call("x").shape != call("x", drops=("y",)).shape
