"""10,000 round trips through Ray leave the memory of this process, and shared memory, as they were."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator

import pytest

from batchpact.dataproto import DataProto, transport
from tests.benchmarks.batches import Size, thirteen_tensors
from tests.benchmarks.test_container import columns
from tests.dataproto.wire.resident import MB, resident

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.bench


@pytest.fixture(autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR", object_store_memory=400 * MB)
    yield
    ray.shutdown()


def test_10_000_round_trips_leave_memory_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    data = DataProto.from_dict(thirteen_tensors(size=Size(16, 256, 768)), {key: c[:16] for key, c in columns().items()})

    def trips(number: int) -> None:
        for trip in range(number):
            with transport(zero_copy=trip % 2 == 0):
                ray.get(ray.put(data))
        gc.collect()

    def used() -> tuple[int, int]:
        return resident(), shutil.disk_usage("/dev/shm").used

    trips(1000)
    before = used()
    trips(10_000)
    grown = [after - earlier for earlier, after in zip(before, used(), strict=True)]

    with capsys.disabled():
        print(f"\nafter 10,000 round trips of 1 MB: {grown[0] / MB:+.1f} MB resident, {grown[1] / MB:+.1f} MB shared")
    assert max(grown) < 20 * MB
