"""A session of Ray in which verl's worker groups find the CPUs that they ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    path = os.pathsep.join([str(Path(__file__).parents[3]), *filter(None, sys.path)])
    env = {"PYTHONPATH": path, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    ray.init(num_cpus=128, include_dashboard=False, runtime_env={"env_vars": env}, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def group_of(cluster: None) -> Callable[..., Any]:
    """Makes one of verl's worker groups."""

    def made(cls: type, ranks: int) -> Any:
        import ray
        from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup

        pool = RayResourcePool([ranks], use_gpu=False)
        return RayWorkerGroup(
            resource_pool=pool, ray_cls_with_init=RayClassWithInitArgs(cls=ray.remote(cls)), device_name="cpu"
        )

    return made
