"""TransferQueue on a session of Ray, for all tests of this folder, and a partition of its own for each."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_numbers = itertools.count()


@pytest.fixture(scope="package")
def queue() -> Iterator[Any]:
    """The module `transfer_queue`, with a controller and storage units that are running."""
    ray = pytest.importorskip("ray")
    transfer_queue = pytest.importorskip("transfer_queue")
    path = os.pathsep.join([str(Path(__file__).parents[3]), *filter(None, sys.path)])
    ray.init(num_cpus=8, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": path}}, logging_level="ERROR")
    transfer_queue.init()
    yield transfer_queue
    transfer_queue.close()
    ray.shutdown()


@pytest.fixture
def partition(queue: Any) -> str:
    """A partition in which nothing is."""
    return f"partition_{next(_numbers)}"


@pytest.fixture
def fetched(queue: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns of each fetch."""
    found: list[list[str]] = []
    client = queue.get_client()
    plain = client.async_get_data

    async def noted(metadata: Any) -> Any:
        found.append(sorted(metadata.field_names))
        return await plain(metadata)

    monkeypatch.setattr(client, "async_get_data", noted)
    return found
