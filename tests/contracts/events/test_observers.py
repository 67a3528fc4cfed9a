"""Observers for wandb and TensorBoard: one number for each name and step, under names that stay."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from batchpact.contracts import ContractWarning, Event, WorkerGroup, checking, observe, stage
from batchpact.contracts.events import StepObserver, to_tensorboard, to_wandb
from batchpact.contracts.events.observers import scalars
from batchpact.schemas.violations import Violation
from tests.contracts.stages import RETURNS, ComputeReturns, scored, written
from tests.contracts.workers.calls import batch_of
from tests.contracts.workers.critics import Critic


def event(step: int | None = 1, *, name: str = "critic", seconds: float = 2.0, codes: str = "") -> Event:
    violations = tuple(Violation(code=code, field="x") for code in codes.split())
    return Event(name, step, seconds, 0.5, 3, 1, 100, 10, violations)


class Recorder:
    """Has the methods of wandb's run and of a `SummaryWriter`."""

    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, Any], int | None]] = []
        self.scalars: list[tuple[str, float, int | None]] = []

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        self.logged.append((data, step))

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None:
        self.scalars.append((tag, scalar_value, global_step))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_the_names_stay() -> None:
    assert dict(scalars(event(codes="BP005 BP001 BP005"))) == {
        "batchpact/critic/calls": 1,
        "batchpact/critic/seconds": 2.0,
        "batchpact/critic/seconds_checking": 0.5,
        "batchpact/critic/bytes_read": 100,
        "batchpact/critic/bytes_written": 10,
        "batchpact/critic/violations": 3,
        "batchpact/critic/violations/BP005": 2,
        "batchpact/critic/violations/BP001": 1,
    }


def test_the_calls_of_a_step_are_added_up(recorder: Recorder) -> None:
    observer = to_wandb(recorder)
    for step, seconds in ((1, 2.0), (1, 3.0), (2, 4.0)):
        observer(event(step, seconds=seconds))

    assert [
        (data["batchpact/critic/calls"], data["batchpact/critic/seconds"], step) for data, step in recorder.logged
    ] == [(2, 5.0, 1)]
    observer.flush()
    observer.flush()
    assert [(data["batchpact/critic/seconds"], step) for data, step in recorder.logged] == [(5.0, 1), (4.0, 2)]


def test_stages_of_a_step_are_logged_together(recorder: Recorder) -> None:
    observer = to_wandb(recorder)
    observer(event(1, name="critic"))
    observer(event(1, name="actor", seconds=7.0))
    observer.flush()

    ((data, _),) = recorder.logged
    assert (data["batchpact/critic/seconds"], data["batchpact/actor/seconds"]) == (2.0, 7.0)


def test_a_call_without_a_step_counts_for_the_one_before(recorder: Recorder) -> None:
    observer = to_wandb(recorder)
    for step in (None, 1, None, 2):
        observer(event(step))
    observer.flush()

    assert [(data["batchpact/critic/calls"], step) for data, step in recorder.logged] == [(1, None), (2, 1), (1, 2)]


def test_somebody_else_may_say_the_step(recorder: Recorder) -> None:
    steps = iter([5, 5, 6])
    observer = to_tensorboard(recorder, step=lambda: next(steps))
    for _ in range(3):
        observer(event(None))
    observer.flush()

    assert [entry for entry in recorder.scalars if entry[0].endswith("/calls")] == [
        ("batchpact/critic/calls", 2, 5),
        ("batchpact/critic/calls", 1, 6),
    ]


def test_the_end_of_the_block_writes_the_last_step(recorder: Recorder) -> None:
    compute = stage(ComputeReturns, name="compute")(lambda data: written(returns=RETURNS))

    with pytest.raises(ValueError, match="stop"), observe(to_wandb(recorder)):
        compute(scored())
        assert recorder.logged == []
        raise ValueError("stop")

    ((data, step),) = recorder.logged
    assert (step, data["batchpact/compute/bytes_written"]) == (7, RETURNS.nbytes)


def test_violations_that_were_not_raised_are_logged(recorder: Recorder, fresh_counts: None) -> None:
    compute = stage(ComputeReturns, name="compute")(lambda data: written(returns=RETURNS, norms=torch.ones(4)))

    with observe(to_wandb(recorder)), checking(action="warn"), pytest.warns(ContractWarning):
        compute(scored())
        compute(scored())

    assert recorder.logged[0][0]["batchpact/compute/violations/BP004"] == 2


def test_bytes_that_travel_are_logged(recorder: Recorder) -> None:
    with WorkerGroup(Critic, dp=2) as group, observe(to_wandb(recorder)):
        group.generate(batch_of(4))

    ((data, _),) = recorder.logged
    assert data["batchpact/generate/bytes_shipped"] == batch_of(4).batch["rewards"].nbytes


def test_an_observer_of_your_own(recorder: Recorder) -> None:
    observer = StepObserver(lambda values, step: recorder.log(dict(values), step))
    observer(event(3))
    observer.flush()

    assert [step for _, step in recorder.logged] == [3]


# --- the real ones ----------------------------------------------------------------------------------------------------


@pytest.fixture
def events() -> Iterator[list[Event]]:
    yield [event(1), event(1, codes="BP005"), event(2, seconds=4.0)]


@pytest.mark.peers
def test_tensorboard_shows_it(events: list[Event], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        observer = to_tensorboard(writer)
        for one in events:
            observer(one)
        observer.flush()

    found = EventAccumulator(str(tmp_path)).Reload()
    shown = {tag: [(point.step, point.value) for point in found.Scalars(tag)] for tag in found.Tags()["scalars"]}
    assert shown["batchpact/critic/seconds"] == [(1, 4.0), (2, 4.0)]
    assert shown["batchpact/critic/violations"] == [(1, 1.0), (2, 0.0)]
    assert shown["batchpact/critic/violations/BP005"] == [(1, 1.0)]


@pytest.mark.peers
@pytest.mark.slow
def test_wandb_has_it_in_the_row_of_the_trainer_s_step(events: list[Event], tmp_path: Path) -> None:
    """A trainer logs a step at its end, and the observer when the next one begins: both are in one row."""
    wandb = pytest.importorskip("wandb")
    run = wandb.init(mode="offline", dir=str(tmp_path), project="batchpact", settings=wandb.Settings(console="off"))
    observer = to_wandb(run)
    for one in events[:2]:
        observer(one)
    run.log({"loss": 1.0}, step=1)
    observer(events[2])
    run.log({"loss": 0.5}, step=2)
    observer.flush()
    run.finish()
    wandb.teardown()  # another process writes the file

    rows: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for step, values in _history(next(tmp_path.glob("wandb/offline-run-*/*.wandb"))):
        rows[step].update(values)
    assert {step: (row["loss"], row["batchpact/critic/seconds"]) for step, row in rows.items()} == {
        1: (1.0, 4.0),
        2: (0.5, 4.0),
    }


def _history(file: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """The rows of an offline run."""
    from wandb.proto import wandb_internal_pb2

    for data in _records(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.HasField("history"):
            items = record.history.item
            values = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in items}
            yield int(values.pop("_step")), values


def _records(data: bytes) -> Iterator[bytes]:
    """The records of wandb's file, which is a log of LevelDB: parts in blocks of 32 KiB, each behind 7 bytes."""
    at, parts = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""
