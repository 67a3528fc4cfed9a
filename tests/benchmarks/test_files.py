"""What saving and loading cost, beside verl's pickles and a plain copy of the bytes to and from the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.dataproto import DataProto
from tests.benchmarks.batches import FULL, thirteen_tensors
from tests.benchmarks.test_container import SELECTED, warm, whole

pytestmark = [
    pytest.mark.bench,
    pytest.mark.benchmark(group="Files beside verl's: 13 tensors, 3 object columns, 124 MB", min_rounds=7),
]


@pytest.fixture(scope="module")
def content() -> np.ndarray:
    """The bytes of all tensors."""
    tensors = thirteen_tensors(size=FULL).values()
    return np.concatenate([tensor.numpy().reshape(-1).view(np.uint8) for tensor in tensors])


def test_plain_write(benchmark: BenchmarkFixture, tmp_path: Path, content: np.ndarray) -> None:
    """Nobody waits here until they are on the disk, and verl does not either."""
    benchmark.extra_info["what"] = "the bytes, written"
    benchmark(warm(lambda: content.tofile(tmp_path / "bytes")))


def test_plain_read(benchmark: BenchmarkFixture, tmp_path: Path, content: np.ndarray) -> None:
    content.tofile(tmp_path / "bytes")
    benchmark.extra_info["what"] = "the bytes, read"
    benchmark(warm(lambda: np.fromfile(tmp_path / "bytes", dtype=np.uint8)))


@pytest.mark.parametrize("operation", ["save", "load"])
def test_verl(benchmark: BenchmarkFixture, tmp_path: Path, operation: str) -> None:
    verl = pytest.importorskip("verl.protocol")
    benchmark.extra_info["what"] = f"verl: {operation}, a pickle"
    benchmark(warm(_operation(verl.DataProto, operation, tmp_path / "batch")))


@pytest.mark.parametrize("operation", ["save", "load"])
def test_ours(benchmark: BenchmarkFixture, tmp_path: Path, operation: str) -> None:
    what = {"save": "save, until it is on the disk", "load": "load, verified"}[operation]
    benchmark.extra_info |= {"what": f"batchpact: {what}", "against": f"test_verl[{operation}]", "goal": "<= 1 x"}
    benchmark(warm(_operation(DataProto, operation, tmp_path / "batch")))


@pytest.mark.parametrize(
    ("part", "options"), [("3 of 13 tensors", {"fields": SELECTED}), ("64 of 1024 rows", {"rows": slice(64, 128)})]
)
def test_a_part(benchmark: BenchmarkFixture, tmp_path: Path, part: str, options: dict[str, Any]) -> None:
    whole(DataProto).save_to_disk(tmp_path / "batch")
    benchmark.extra_info |= {"what": f"batchpact: load {part}", "against": "test_ours[load]", "goal": "<= 0.3 x"}
    benchmark(warm(lambda: DataProto.load_from_disk(tmp_path / "batch", **options)))


def _operation(batch: Any, operation: str, path: Path) -> Callable[[], Any]:
    data = whole(batch)
    data.save_to_disk(path)
    return (lambda: data.save_to_disk(path)) if operation == "save" else (lambda: batch.load_from_disk(path))
