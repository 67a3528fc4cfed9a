"""Calls become a stage."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from batchpact.contracts.tracing.calls import Call
from batchpact.contracts.tracing.explaining import Configurations
from batchpact.contracts.tracing.stages import Observed, StageDraft, draft_inputs, draft_stage, outputs_of
from batchpact.schemas.record import RowsSpec
from batchpact.schemas.stores import Stores


def holding(*names: str, grad: bool = False) -> Stores:
    return Stores({name: torch.zeros(2, requires_grad=grad) for name in names}, {}, {})


def call(looked: tuple[str, ...] = (), writes: tuple[str, ...] = (), **more: Any) -> Call:
    held, grad = holding("x", "y"), more.pop("grad", False)
    return Call("score", "trainer.score", held, held, looked=list(looked), written=holding(*writes, grad=grad), **more)


def stage(*calls: tuple[int, Call], configs: list[Any] | None = None, runs: int = 2) -> StageDraft:
    known = Configurations(configs or [{}] * runs)
    return draft_stage(Observed("score", "trainer.score", list(calls)), known, range(runs))


def fields(drafted: StageDraft) -> dict[str, tuple[bool, list[str]]]:
    return {field.key: (field.optional, field.comments) for field in (*drafted.reads, *drafted.writes)}


def test_what_all_calls_did_is_required_and_what_some_did_is_optional() -> None:
    found = stage((0, call(("x",), ("out",))), (1, call(("x", "y"), ("out", "more"))))

    assert fields(found) == {
        "x": (False, []),
        "y": (True, ["in 1 of 2 calls"]),
        "out": (False, []),
        "more": (True, ["in 1 of 2 calls"]),
    }
    assert (found.name, found.when) == ("Score", "")


def test_one_key_that_explains_it_is_a_condition() -> None:
    found = stage((0, call(("x",))), (1, call(("x", "y"))), configs=[{"use": False}, {"use": True}])

    assert [field.marks for field in found.reads] == [[], ['When(config("use"))']]


def test_what_only_some_calls_of_a_run_did_is_no_condition() -> None:
    calls = [(0, call(("x",))), (1, call(("x", "y"))), (1, call(("x",)))]

    assert fields(stage(*calls, configs=[{"use": False}, {"use": True}]))["y"] == (True, ["in 1 of 3 calls"])


def test_a_stage_of_some_runs() -> None:
    explained = stage((1, call(("x",))), configs=[{"use": False}, {"use": True}])

    assert (explained.when, explained.comments) == ('config("use")', ["called in 1 of 2 runs"])
    assert stage((1, call(("x",)))).when == ""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("same", None)], []),
        ([("permute", None), ("same", None)], ['rows = "permute"']),
        ([("select", None), ("permute", None)], ['rows = "select"']),
        ([("new", None)], ['rows = "new"']),
        ([("repeat", 3)], ["rows = Repeat(3)"]),
        ([("repeat", 3), ("repeat", 2)], ['rows = "select"']),
        ([("repeat", 3), ("same", None)], ['rows = "select"']),
    ],
)
def test_the_rows_of_all_calls(rows: list[tuple[str, int | None]], expected: list[str]) -> None:
    specs = [RowsSpec.model_validate({"kind": kind, "times": times}) for kind, times in rows]

    assert stage(*((0, call(("x",), rows=spec)) for spec in specs), runs=1).facts == expected


def test_how_often_rows_repeat_stands_in_the_configuration() -> None:
    calls = [(run, call(("x",), rows=RowsSpec(kind="repeat", times=run + 2))) for run in (0, 1)]

    assert stage(*calls, configs=[{"n": 2}, {"n": 3}]).facts == ['rows = Repeat("n")']


def test_other_facts() -> None:
    found = stage(
        (0, call(("x",), ("loss",), drops=("y", "z"), grad=True)), (0, call(("x",), ("loss",), drops=("y",))), runs=1
    )

    assert found.facts == ['drops = ("y",)', 'graph = "allow"']


def test_outputs_are_what_nobody_reads_and_is_always_there() -> None:
    first, second = stage((0, call((), ("x", "out"))), runs=1), stage((0, call(("x",), ("end",))), runs=1)
    sometimes = stage((0, call((), ("some",))), configs=[{"use": True}, {"use": False}])

    assert outputs_of([first, second]) == ["out", "end"]
    assert outputs_of([first, second, sometimes]) == []


def test_what_runs_start_with() -> None:
    found = draft_inputs([holding("x"), holding("x", "y")], Configurations([{"use": 1}, {"use": 2}]))

    assert [(field.key, field.marks) for field in found] == [("x", []), ("y", ['When(config("use") == 2)'])]
