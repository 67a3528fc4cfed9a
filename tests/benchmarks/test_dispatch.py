"""One call of a stage on two workers through Ray: the controller has 13 fields, the stage reads 3 and writes 1.

verl's own worker group ships what it is given: the whole batch, or the fields that somebody picked by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.contracts import Event, WorkerGroup, observe
from batchpact.dataproto import DataProto, transport
from tests.benchmarks.batches import FULL, thirteen_tensors
from tests.benchmarks.dispatch_workers import READS, Critic
from tests.benchmarks.sessions import touched_session
from tests.benchmarks.test_container import columns
from tests.benchmarks.test_wire import plain_copy

ray = pytest.importorskip("ray")
pytest.importorskip("verl.protocol")

group = pytest.mark.benchmark(group="One call on 2 workers: 13 fields (124 MB) there, 3 of them read, 1 written")
pytestmark = pytest.mark.bench
MODES = {"its default": "", "numpy mode": "numpy"}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with touched_session(num_cpus=32):  # verl asks for ten logical CPUs for each worker
        yield


@pytest.fixture(scope="module")
def ours(cluster: None) -> Iterator[WorkerGroup]:
    with WorkerGroup(Critic, dp=2, backend="ray", ray_options={"num_cpus": 1}) as made:
        yield made


@pytest.fixture(scope="module")
def theirs(cluster: None) -> Any:
    from verl.single_controller.ray.base import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup

    from tests.benchmarks.dispatch_workers import VerlCritic

    made = RayWorkerGroup(
        resource_pool=RayResourcePool([2], use_gpu=False),
        ray_cls_with_init=RayClassWithInitArgs(cls=ray.remote(VerlCritic)),
        device_name="cpu",
    )
    yield made
    for worker in made.workers:
        ray.kill(worker)


def measure(benchmark: BenchmarkFixture, call: Callable[[], Any], rounds: int = 25) -> None:
    made = benchmark.pedantic(call, rounds=rounds, warmup_rounds=5)
    tensors = thirteen_tensors(size=FULL)
    assert torch.equal(made.batch["advantages"], tensors["token_level_rewards"] - tensors["values"])


@group
def test_plain_copy(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info["what"] = "plain copy of the 13 fields"
    benchmark.pedantic(plain_copy(thirteen_tensors(size=FULL)), rounds=15, warmup_rounds=3)


@group
def test_contract(benchmark: BenchmarkFixture, ours: WorkerGroup, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = thirteen_tensors(size=FULL)
    data = DataProto.from_dict(tensors, columns(), {"temperature": 1.0})
    events: list[Event] = []
    with observe(events.append):
        ours.compute_advantage(data)
    shipped = events[0].shipped
    assert shipped == {key: tensors[key].nbytes for key in READS}

    benchmark.extra_info |= {"what": "WorkerGroup: what the contract reads", "against": "test_plain_copy"}
    benchmark.extra_info["shipped"] = sum(shipped.values())
    measure(benchmark, lambda: ours.compute_advantage(data))
    with capsys.disabled():
        print(f"\nshipped: {sum(shipped.values()) / 1e6:.1f} MB of {sum(t.nbytes for t in tensors.values()) / 1e6:.1f}")


@group
def test_contract_zero_copy(benchmark: BenchmarkFixture, ours: WorkerGroup) -> None:
    benchmark.extra_info |= {"what": "WorkerGroup, zero_copy", "against": "test_plain_copy"}
    data = DataProto.from_dict(thirteen_tensors(size=FULL), columns(), {"temperature": 1.0})

    def call() -> DataProto:
        with transport(zero_copy=True):
            made: DataProto = ours.compute_advantage(data)
            return made

    measure(benchmark, call)


@group
@pytest.mark.parametrize("mode", MODES)
def test_verl(benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, theirs: Any, mode: str) -> None:
    goal = ">= 20 x" if mode == "its default" else ">= 4 x"
    benchmark.extra_info |= {"what": f"verl, {mode}, the whole batch", "against": "test_contract", "goal": goal}
    data = verls(columns())
    serialise_by(monkeypatch, theirs, MODES[mode])
    measure(benchmark, lambda: theirs.compute_advantage(data), rounds=8 if mode == "its default" else 25)


@group
def test_verl_by_hand(benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, theirs: Any) -> None:
    what = "verl, numpy mode, 3 fields picked by hand"
    benchmark.extra_info |= {"what": what, "against": "test_contract", "goal": ">= 1 x"}
    data = verls(columns())
    serialise_by(monkeypatch, theirs, MODES["numpy mode"])
    measure(benchmark, lambda: theirs.compute_advantage(data.select(list(READS), [])))


def verls(held: dict[str, Any]) -> Any:
    from verl.protocol import DataProto as VerlBatch

    return VerlBatch.from_dict(thirteen_tensors(size=FULL), held, {"temperature": 1.0})


def serialise_by(monkeypatch: pytest.MonkeyPatch, workers: Any, method: str) -> None:
    """How verl serialises is up to an environment variable, on both ends."""
    monkeypatch.setenv("VERL_DATAPROTO_SERIALIZATION_METHOD", method)
    workers.serialise_by(method)
