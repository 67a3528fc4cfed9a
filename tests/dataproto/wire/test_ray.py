"""Batches through a real Ray: into the object store, out of it, and as arguments and results of calls."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from batchpact.dataproto import DataProto, transport
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import batches, jagged, law, plain
from tests.dataproto.wire.cluster import Worker, in_store
from tests.dataproto.wire.resident import MB, linux, peak_of, resident
from tests.dataproto.wire.test_round_trips import Tagged
from tests.dataproto.wire.ways import tensors_of, untouched
from tests.ray_sessions import own_session

pytestmark = [pytest.mark.ray, pytest.mark.slow, linux]
ray = pytest.importorskip("ray")

STORE = 200 * MB


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with own_session(num_cpus=1, object_store_memory=STORE):
        yield


@pytest.fixture(scope="module")
def worker(cluster: None) -> Any:
    return ray.remote(Worker).options(num_cpus=0).remote()


def batch() -> DataProto:
    """Every field large enough for the object store."""
    return DataProto.from_dict(
        {
            "ids": torch.arange(2**18).reshape(4, -1),
            "bf16": torch.linspace(-1, 1, 2**18).to(torch.bfloat16).reshape(4, -1),
            "mask": torch.arange(2**18).reshape(4, -1) % 3 == 0,
        },
        {"score": np.arange(2**15, dtype=np.float32).reshape(4, -1), "uid": ["a", "a", "b", "b"]},
        {"temperature": 0.7},
    )


# --- the object store -------------------------------------------------------------------------------------------------


@settings(law, max_examples=60)
@given(batches())
def test_any_batch_comes_back_equal_and_the_sender_is_untouched(data: DataProto) -> None:
    with untouched(data):
        received = ray.get(ray.put(data))

    assert plain(received) == plain(data)
    for tensor in tensors_of(received):
        tensor.zero_()
    for cells in received.non_tensor_batch.values():
        cells[:] = cells[::-1].copy()


def test_what_is_received_is_its_own_and_outlives_the_object() -> None:
    data = batch()
    ref = ray.put(data)
    received = ray.get(ref)

    del ref
    gc.collect()
    others = [ray.put(DataProto.from_dict({"x": torch.zeros(2**21)})) for _ in range(8)]  # whatever was free is used

    assert plain(received) == plain(data)
    assert not any(in_store(received).values())
    received.batch["ids"].zero_()
    assert plain(data) == plain(batch())
    assert len(others) == 8


def test_views_lie_in_the_object_store_and_hold_it() -> None:
    data = batch()
    ref = ray.put(data)
    with transport(zero_copy=True):
        received, again = ray.get(ref), ray.get(ref)

    del ref
    gc.collect()
    others = [ray.put(DataProto.from_dict({"x": torch.zeros(2**21)})) for _ in range(8)]

    assert in_store(received) == dict.fromkeys(["ids", "bf16", "mask", "score"], True)
    assert [t.data_ptr() for t in tensors_of(received)] == [t.data_ptr() for t in tensors_of(again)]
    assert plain(received) == plain(data)
    assert len(others) == 8


def test_jagged_tensors_come_back_with_shared_offsets() -> None:
    tokens = jagged(*([row] * (9000 * row) for row in range(4)))
    mask = torch.nested.nested_tensor_from_jagged(torch.ones(54_000), tokens.offsets())
    data = DataProto.from_dict({"tokens": tokens, "mask": mask})

    for zero_copy in (False, True):
        with transport(zero_copy=zero_copy):
            received = ray.get(ray.put(data))
        assert plain(received) == plain(data)
        assert received.batch["tokens"].offsets() is received.batch["mask"].offsets()


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 4], ids=["small", "large"])
@pytest.mark.parametrize("by_reference", [False, True])
def test_a_worker_receives_a_batch_that_it_may_write_on(worker: Any, by_reference: bool, rows: int) -> None:
    data = batch().select(["ids", "mask"], ["uid"]) if rows == 1 else batch()
    data = data[:rows]

    with untouched(data):
        argument = ray.put(data) if by_reference else data
        seen, returned = ray.get([worker.look.remote(argument), worker.write.remote(argument)])

    assert seen == plain(data)
    assert not returned.batch["ids"].any()
    assert returned.batch["late"].tolist() == [1] * rows
    assert returned.meta_info["new"] == 1
    returned.batch["ids"] += 1


def test_the_sender_decides_whether_a_worker_receives_views(worker: Any) -> None:
    data, keys = batch(), ["ids", "bf16", "mask", "score"]
    with transport(zero_copy=True):
        asked = worker.in_store.remote(data), worker.in_store.remote(ray.put(data))
    plainly = worker.in_store.remote(data), worker.in_store.remote(ray.put(data))

    assert ray.get(list(asked)) == [dict.fromkeys(keys, True)] * 2
    assert ray.get(list(plainly)) == [dict.fromkeys(keys, False)] * 2


def test_a_worker_receives_views_and_passes_them_on(worker: Any) -> None:
    with transport(zero_copy=True):
        ref = worker.return_views.remote(batch())
        received = ray.get(ref)

    assert plain(received) == plain(batch())
    assert all(in_store(received).values())


def test_what_a_batch_carries_unseen_is_there(worker: Any) -> None:
    data = Tagged.from_dict({"x": torch.ones(2)})
    data._writers, data._reads = {"x": "rollout"}, {"score": ("x",)}
    data._marks = RowMarks(pads=np.array([False, True]))

    kind, schema, history, marks = ray.get(worker.facts.remote(data))

    assert (kind, schema, history) == ("Tagged", None, {"x": "written by 'rollout'"})
    assert marks.pads.tolist() == [False, True]


def test_nothing_depends_on_the_environment_of_a_worker(worker: Any) -> None:
    for method in ("numpy", "torch"):
        ray.get(worker.environment.remote("VERL_DATAPROTO_SERIALIZATION_METHOD", method))
        assert ray.get(worker.look.remote(batch())) == plain(batch())


# --- memory -----------------------------------------------------------------------------------------------------------


def test_sending_takes_no_memory_beside_the_object_store() -> None:
    """Case W3: no copy that nobody asked for."""
    data = DataProto.from_dict({key: torch.ones(1024, 2048) for key in "abcdefgh"})
    bytes_of_data = 8 * 1024 * 2048 * 4
    assert peak_of(lambda: [tensor.clone() for tensor in tensors_of(data)]) > 0.9 * bytes_of_data  # it sees them

    assert peak_of(lambda: ray.put(data)) < 0.05 * bytes_of_data


@pytest.mark.parametrize("zero_copy", [False, True])
def test_round_trips_leave_memory_and_shared_memory_as_they_were(worker: Any, zero_copy: bool) -> None:
    """300 trips of 3 MB, there and back; the object store takes 200 MB. A longer run is in tests/benchmarks."""
    data = batch()

    def trips(number: int) -> None:
        with transport(zero_copy=zero_copy):
            for _ in range(number):
                received = ray.get(worker.return_views.remote(data) if zero_copy else worker.write.remote(data))
        del received
        gc.collect()

    def used() -> list[int]:
        return [resident(), ray.get(worker.resident.remote()), shutil.disk_usage("/dev/shm").used]

    trips(100)
    before = used()
    trips(300)

    assert all(after - earlier < 20 * MB for earlier, after in zip(before, used(), strict=True))
