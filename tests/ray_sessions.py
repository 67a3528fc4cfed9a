"""Sessions of Ray whose workers find what this process can import: one that tests share, and others of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parent.parent


@contextmanager
def own_session(*, env: Mapping[str, str] | None = None, **options: Any) -> Iterator[None]:
    """A session for these tests only; the shared one has to end for it.

    Args:
        env: variables of the workers' environment.
        options: what `ray.init` takes; with an `address`, Ray is running there.
    """
    ray = pytest.importorskip("ray")
    ray.shutdown()
    _start(env or {}, options)
    try:
        yield
    finally:
        ray.shutdown()


def shared_session() -> None:
    """One node with one CPU: the session that is running, as the tests before have left it, or a new one."""
    ray = pytest.importorskip("ray")
    if not ray.is_initialized():
        _start({}, {"num_cpus": 1})


def _start(env: Mapping[str, str], options: Mapping[str, Any]) -> None:
    import ray

    path = os.pathsep.join([str(_ROOT), *filter(None, sys.path)])
    here = {} if "address" in options else {"include_dashboard": False}
    variables = {"PYTHONPATH": path, **env}
    ray.init(runtime_env={"env_vars": variables}, logging_level="ERROR", **here, **options)
