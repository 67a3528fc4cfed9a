"""The model of `docs/scale.md` held against measured steps: rates are fitted to some of them and tell the others."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.table import Table

from batchpact.contracts import Event, WorkerGroup, observe
from batchpact.dataproto import DataProto
from tests.benchmarks.batches import Size, thirteen_tensors
from tests.benchmarks.scale_model import SHIPPED, Load, field_bytes, fitted, load
from tests.benchmarks.scale_workers import Projected, Whole
from tests.benchmarks.sessions import touched_session

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.bench

FITTED = [Size(64, 512, 1536), Size(512, 512, 1536), Size(1024, 512, 1536)]
TOLD = [Size(256, 512, 1536), Size(768, 512, 1536), Size(256, 1024, 7168), Size(2048, 256, 512)]
ROUNDS = 7


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with touched_session(num_cpus=8):
        yield


def measured(group: WorkerGroup, size: Size, workers: int, *, projected: bool) -> tuple[Load, float]:
    """The seconds that the calls of one step take, the median of some rounds, and what was sent by its own account."""
    data = DataProto.from_dict(thirteen_tensors(size=size), {}, {"temperature": 1.0})

    def step() -> None:
        for name in ("compute_old_log_prob", "compute_ref_log_prob", "update_actor"):
            getattr(group, name)(data)

    seconds = []
    for _ in range(ROUNDS + 2):
        began = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - began)
    events: list[Event] = []
    with observe(events.append):
        step()
    told = load(size, workers, projected=projected)
    sent = sum(event.shipped.get(key, 0) for event in events for key in field_bytes(size))
    assert sent == told.sent, "the model counts what is really sent"
    return told, statistics.median(seconds[2:])


def test_the_model_tells_what_a_step_costs(capsys: pytest.CaptureFixture[str]) -> None:
    points: list[tuple[str, Size, int, Load, float]] = []
    for kind in (Projected, Whole):
        for workers in (2, 4):
            with WorkerGroup(kind, dp=workers, backend="ray", ray_options={"num_cpus": 1}) as group:
                for size in (*FITTED, *TOLD):
                    found = measured(group, size, workers, projected=kind is Projected)
                    points.append((kind.__name__.lower(), size, workers, *found))
    rates = fitted([(load, seconds) for _, size, _, load, seconds in points if size in FITTED])
    costs = f"{rates.stage * 1e3:.1f} ms a stage, {rates.message * 1e3:.1f} ms a worker, {1e-9 / rates.byte:.1f} GB/s"
    table = Table(title=f"{len(SHIPPED)} stages of a step: {costs}")
    for column in ("batch", "workers", "shipped", "measured", "by the model", "off by"):
        table.add_column(column, justify="right")
    misses = []
    for name, size, workers, sent, seconds in sorted(points, key=lambda point: (point[1] in TOLD, point[1])):
        told = rates.seconds(sent)
        if size in TOLD:
            misses.append(abs(told / seconds - 1))
        table.add_row(
            f"{size.rows} x ({size.prompt} + {size.response}), {name}",
            str(workers),
            f"{sent.sent / 1e6:.0f} MB",
            f"{seconds * 1e3:.1f} ms",
            f"{told * 1e3:.1f} ms",
            f"{told / seconds - 1:+.0%}" + ("" if size in TOLD else "  (fitted)"),
        )
    with capsys.disabled():
        print()
        Console(width=120).print(table)
        print(f"other steps than the fitted ones: off by {statistics.median(misses):.0%}, at most {max(misses):.0%}")
    assert statistics.median(misses) < 0.5
