"""The order of stages over several runs."""

from __future__ import annotations

import pytest
import torch

from batchpact.contracts.tracing.calls import Call
from batchpact.contracts.tracing.order import in_order, steps
from batchpact.schemas.record import RowsSpec
from batchpact.schemas.stores import Stores


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([["a", "b", "a", "b"]], ["a", "b"]),
        ([["a", "c"], ["a", "b", "c"]], ["a", "b", "c"]),
        ([["a", "x", "d"], ["a", "y", "d"]], ["a", "x", "y", "d"]),
        ([["a"], ["b"]], ["a", "b"]),
        ([["b", "c"], ["a", "b"]], ["a", "b", "c"]),
    ],
)
def test_names_in_one_order(runs: list[list[str]], expected: list[str]) -> None:
    assert in_order(runs) == expected


def holding(*names: str, dtype: torch.dtype = torch.float32) -> Stores:
    return Stores({name: torch.zeros(2, 3).to(dtype) for name in names}, {}, {})


def call(
    name: str, held: Stores, writes: tuple[str, ...] = (), rows: str = "same", drops: tuple[str, ...] = ()
) -> Call:
    spec = RowsSpec.model_validate({"kind": rows})
    return Call(name, "", held, held, written=holding(*writes), rows=spec, drops=drops)


def test_what_the_loop_writes_between_calls_is_a_step_of_its_own() -> None:
    calls = [call("a", holding("x"), ("y",)), call("b", holding("x", "y", "z", "unread")), call("c", holding("x", "z"))]
    start, found = steps(calls, {"x", "y", "z"})

    assert start.names() == ["x"]
    assert [step.name for step in found] == ["a", "before_b", "b", "c"]
    assert found[1].call.written.names() == ["z"] and found[1].call.looked == ["x", "y"]


def test_a_field_that_has_become_another_was_written_by_the_loop() -> None:
    calls = [call("a", holding("x")), call("b", holding("x", dtype=torch.bfloat16))]

    assert [step.name for step in steps(calls, {"x"})[1]] == ["a", "before_b", "b"]


@pytest.mark.parametrize("how", [{"rows": "new"}, {"drops": ("x",)}])
def test_a_field_that_was_gone_was_written_by_the_loop(how: dict[str, object]) -> None:
    calls = [call("a", holding("x"), **how), call("b", holding("x"))]  # type: ignore[arg-type]

    assert [step.name for step in steps(calls, {"x"})[1]] == ["a", "before_b", "b"]


def test_without_calls_there_is_nothing() -> None:
    assert steps([], set()) == (Stores({}, {}, {}), [])
