"""Groups of workers for the tests: in this process, and as actors of Ray."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from batchpact.contracts import WorkerGroup
from tests.contracts.workers.calls import FREE
from tests.contracts.workers.critics import Critic


@pytest.fixture(scope="module")
def actors() -> Iterator[dict[Any, WorkerGroup]]:
    """The groups of actors of a module, by what they were made with: an actor takes its time to start."""
    groups: dict[Any, WorkerGroup] = {}
    yield groups
    for group in groups.values():
        group.shutdown()


@pytest.fixture(params=["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow])])
def groups(request: pytest.FixtureRequest) -> Callable[..., WorkerGroup]:
    """Gives groups of critics on either backend, each another one; they may have been used before."""
    ray = request.param == "ray"
    made: dict[Any, WorkerGroup] = {}
    if ray:
        request.getfixturevalue("cluster")
        made = request.getfixturevalue("actors")  # ended before the session of Ray is
    count = itertools.count()

    def give(*args: Any, dp: int = 2) -> WorkerGroup:
        options = {"ray_options": FREE} if ray else {}
        key = (next(count), args, dp)
        if key not in made:
            made[key] = WorkerGroup(Critic, *args, dp=dp, backend=request.param, **options)
        return made[key]

    return give
