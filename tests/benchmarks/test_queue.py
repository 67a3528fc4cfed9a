"""A stage that reads 3 of 13 columns through TransferQueue: its time and its bytes, with and without projection."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tensordict import TensorDict

from batchpact.contracts import Event, observe, stage
from batchpact.schemas import BatchSchema, StageSchema
from batchpact.schemas.rl import fields as f
from tests.benchmarks.batches import FULL, thirteen_tensors

ray = pytest.importorskip("ray")
tq = pytest.importorskip("transfer_queue")

KEYS = [f"row {row}" for row in range(FULL.rows)]
PARTITION = "benchmark"

pytestmark = [pytest.mark.bench, pytest.mark.benchmark(group="TransferQueue: 3 of 13 columns, 124 MB, 2 storage units")]


class ThreeIn(StageSchema):
    """Three reads and no write, so that fetching is all that there is."""

    class Reads(BatchSchema):
        old_log_probs: f.OldLogProbs
        ref_log_prob: f.RefLogProb
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        pass


class AllIn(ThreeIn):
    """The same for a contract that is open: every column is fetched."""

    class Reads(ThreeIn.Reads, extra="allow"):
        pass


@stage
def three(batch: ThreeIn.Reads) -> ThreeIn.Writes:
    return ThreeIn.Writes()


@stage
def everything(batch: AllIn.Reads) -> AllIn.Writes:
    return AllIn.Writes()


@pytest.fixture(scope="module")
def keys() -> Iterator[Any]:
    """The rows of a GRPO step in a queue."""
    logging.getLogger("transfer_queue").setLevel(logging.ERROR)
    ray.init(num_cpus=8, include_dashboard=False, logging_level="ERROR")
    tq.init()
    yield tq.kv_batch_put(KEYS, PARTITION, TensorDict(thirteen_tensors(size=FULL), batch_size=FULL.rows))
    tq.close()
    ray.shutdown()


def fetched(call: Callable[[], object]) -> int:
    """The bytes that a call of a stage fetches."""
    events: list[Event] = []
    with observe(events.append):
        call()
    return sum(events[0].shipped.values())


def measure(benchmark: BenchmarkFixture, call: Callable[[], object], what: str, **said: str) -> None:
    benchmark.extra_info.update({"what": what, **said})
    benchmark.pedantic(call, rounds=7, warmup_rounds=2)


def test_all_columns_by_hand(benchmark: BenchmarkFixture, keys: Any) -> None:
    """As verl 0.9.1 does on every call of a worker, where nobody sets `KVBatchMeta.fields`."""
    measure(benchmark, lambda: tq.kv_batch_get(KEYS, PARTITION), "kv_batch_get of all 13 columns")


def test_three_columns_by_hand(benchmark: BenchmarkFixture, keys: Any) -> None:
    columns = [field.key for field in ThreeIn.Reads.__batchpact__.spec.fields]
    call = lambda: tq.kv_batch_get(KEYS, PARTITION, select_fields=columns)  # noqa: E731
    measure(benchmark, call, "kv_batch_get of 3 columns, chosen by hand", against="test_all_columns_by_hand")


def test_a_stage_without_projection(benchmark: BenchmarkFixture, keys: Any) -> None:
    size = fetched(lambda: everything(keys)) / 2**20
    against = "test_all_columns_by_hand"
    measure(benchmark, lambda: everything(keys), f"a stage that is handed everything: {size:.1f} MiB", against=against)


def test_a_stage_with_projection(benchmark: BenchmarkFixture, keys: Any) -> None:
    size = fetched(lambda: three(keys))
    declared = sum(
        tensor.nbytes
        for key, tensor in thirteen_tensors(size=FULL).items()
        if ThreeIn.Reads.__batchpact__.spec.field(key) is not None
    )
    assert size == declared
    what = f"a stage with its 3 reads: {size / 2**20:.1f} MiB, which are the declared ones"
    measure(benchmark, lambda: three(keys), what, against="test_a_stage_without_projection")
