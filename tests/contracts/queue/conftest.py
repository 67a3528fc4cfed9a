"""TransferQueue on a session of Ray, for all tests of this folder, and a partition of its own for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ray_sessions import own_session

_numbers = itertools.count()


@pytest.fixture(scope="package")
def queue() -> Iterator[Any]:
    """The module `transfer_queue`, with a controller and storage units that are running."""
    transfer_queue = pytest.importorskip("transfer_queue")
    with own_session(num_cpus=8):
        transfer_queue.init()
        yield transfer_queue
        transfer_queue.close()


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
