"""What it costs to send a batch through Ray's object store and to receive it, beside a plain copy of its bytes.

Whether what is received goes into memory that the process has used before decides most of the time that receiving
takes, and is up to what the C library happens to have kept. Here it keeps nothing, as in a process that has just
started, but for the two cases that say so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.dataproto import DataProto, transport
from tests.benchmarks.batches import FULL, Size, thirteen_tensors, uids
from tests.benchmarks.sessions import touched_session
from tests.benchmarks.test_container import columns

ray = pytest.importorskip("ray")

Operation: TypeAlias = Callable[[], Any]

SIZES = {"1 MB": Size(8, 512, 1536), "10 MB": Size(83, 512, 1536), "100 MB": Size(828, 512, 1536)}
SIZES |= {"1 GB": Size(8280, 512, 1536)}
SMALL = {"1 KB": Size(1, 4, 12), "10 KB": Size(4, 11, 31), "100 KB": Size(8, 52, 155)}

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

full = pytest.mark.benchmark(group="Ray put + get: 13 tensors, 3 object columns, 124 MB")
sizes = pytest.mark.benchmark(group="Ray put + get: from 1 MB to 1 GB, beside a plain copy of the bytes")
small = pytest.mark.benchmark(group="Ray put + get: small batches, beside verl's")
pytestmark = pytest.mark.bench


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with touched_session(num_cpus=1):
        yield


def there_and_back(value: object) -> Operation:
    return lambda: ray.get(ray.put(value))


def viewed(value: object) -> Operation:
    def run() -> Any:
        with transport(zero_copy=True):
            return ray.get(ray.put(value))

    return run


def plain_copy(tensors: dict[str, torch.Tensor]) -> Operation:
    """One copy of all the bytes by one thread, into memory that was used before."""
    source = all_bytes(tensors)
    target = source.copy()
    return lambda: np.copyto(target, source)


def all_bytes(tensors: dict[str, torch.Tensor]) -> np.ndarray:
    """The bytes of all tensors, one after the other."""
    flat: np.ndarray = torch.cat([tensor.reshape(-1).view(torch.uint8) for tensor in tensors.values()]).numpy()
    return flat


def measure(benchmark: BenchmarkFixture, operation: Operation, rounds: int = 15, *, kept: bool = False) -> None:
    keep_freed_memory(kept)
    benchmark.pedantic(operation, rounds=rounds, warmup_rounds=5)


def keep_freed_memory(kept: bool) -> None:
    """Whether the C library keeps large blocks that were freed for the next who asks."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 << 20 if kept else 128 << 10)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1 if kept else 128 << 10)


def whole(batch: Any, size: Size = FULL) -> Any:
    """A batch of ours or of verl's."""
    held = columns() if size is FULL else {"uid": uids(size.rows)}
    return batch.from_dict(thirteen_tensors(size=size), held, {"temperature": 1.0})


# --- 124 MB -----------------------------------------------------------------------------------------------------------


@full
def test_plain_copy(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info["what"] = "plain copy of the bytes"
    measure(benchmark, plain_copy(thirteen_tensors(size=FULL)))


@full
def test_dict_of_arrays(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info |= {"what": "a dict of numpy arrays, read-only on arrival", "against": "test_plain_copy"}
    measure(benchmark, there_and_back({key: t.numpy() for key, t in thirteen_tensors(size=FULL).items()}))


@full
def test_zero_copy(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info |= {"what": "batchpact, zero_copy", "against": "test_plain_copy", "goal": "<= 2.2 x"}
    measure(benchmark, viewed(whole(DataProto)))


@full
def test_writable(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info |= {"what": "batchpact, writable", "against": "test_plain_copy", "goal": "<= 3.5 x"}
    measure(benchmark, there_and_back(whole(DataProto)))


@full
def test_verl_numpy_mode(benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    verl = pytest.importorskip("verl.protocol")
    monkeypatch.setenv("VERL_DATAPROTO_SERIALIZATION_METHOD", "numpy")
    benchmark.extra_info |= {"what": "verl, numpy mode", "against": "test_writable", "goal": ">= 2.2 x"}
    measure(benchmark, there_and_back(whole(verl.DataProto)))


@full
def test_tensordict(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info |= {"what": "a TensorDict, pickled by itself", "against": "test_writable"}
    measure(benchmark, there_and_back(whole(DataProto).batch), rounds=8)


@full
def test_verl_default(benchmark: BenchmarkFixture) -> None:
    verl = pytest.importorskip("verl.protocol")
    benchmark.extra_info |= {"what": "verl, its default", "against": "test_writable", "goal": ">= 25 x"}
    measure(benchmark, there_and_back(whole(verl.DataProto)), rounds=5)


@full
def test_writable_in_kept_memory(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info |= {"what": "batchpact, writable, into memory used before", "against": "test_plain_copy"}
    measure(benchmark, there_and_back(whole(DataProto)), kept=True)


@full
def test_verl_numpy_mode_in_kept_memory(benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    verl = pytest.importorskip("verl.protocol")
    monkeypatch.setenv("VERL_DATAPROTO_SERIALIZATION_METHOD", "numpy")
    benchmark.extra_info["what"] = "verl, numpy mode, into memory used before"
    benchmark.extra_info["against"] = "test_writable_in_kept_memory"
    measure(benchmark, there_and_back(whole(verl.DataProto)), kept=True)


# --- by size ----------------------------------------------------------------------------------------------------------


@sizes
@pytest.mark.parametrize("size", SIZES)
def test_plain_copy_of(benchmark: BenchmarkFixture, size: str) -> None:
    benchmark.extra_info["what"] = f"plain copy of {size}"
    measure(benchmark, plain_copy(thirteen_tensors(size=SIZES[size])))


@sizes
@pytest.mark.parametrize("size", SIZES)
def test_array_of(benchmark: BenchmarkFixture, size: str) -> None:
    benchmark.extra_info |= {"what": f"one numpy array, {size}, read-only", "against": f"test_plain_copy_of[{size}]"}
    measure(benchmark, there_and_back(all_bytes(thirteen_tensors(size=SIZES[size]))))


@sizes
@pytest.mark.parametrize("size", SIZES)
def test_writable_of(benchmark: BenchmarkFixture, size: str) -> None:
    benchmark.extra_info |= {"what": f"batchpact, {size}, writable", "against": f"test_plain_copy_of[{size}]"}
    measure(benchmark, there_and_back(whole(DataProto, SIZES[size])))


@sizes
@pytest.mark.parametrize("size", SIZES)
def test_zero_copy_of(benchmark: BenchmarkFixture, size: str) -> None:
    benchmark.extra_info |= {"what": f"batchpact, {size}, zero_copy", "against": f"test_plain_copy_of[{size}]"}
    measure(benchmark, viewed(whole(DataProto, SIZES[size])))


# --- small ones -------------------------------------------------------------------------------------------------------


@small
@pytest.mark.parametrize("mode", ["its default", "numpy mode"])
@pytest.mark.parametrize("size", SMALL)
def test_verl_of(benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, size: str, mode: str) -> None:
    verl = pytest.importorskip("verl.protocol")
    monkeypatch.setenv("VERL_DATAPROTO_SERIALIZATION_METHOD", "numpy" if mode == "numpy mode" else "")
    benchmark.extra_info |= {"what": f"verl, {mode}, {size}", "against": f"test_small[{size}]", "goal": ">= 1 x"}
    measure(benchmark, there_and_back(whole(verl.DataProto, SMALL[size])), rounds=400)


@small
@pytest.mark.parametrize("size", SMALL)
def test_small(benchmark: BenchmarkFixture, size: str) -> None:
    benchmark.extra_info["what"] = f"batchpact, {size}"
    measure(benchmark, there_and_back(whole(DataProto, SMALL[size])), rounds=400)
