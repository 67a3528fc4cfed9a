"""A session of Ray in which verl's worker groups find the CPUs that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.ray_sessions import own_session


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with own_session(env={"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}, num_cpus=128):
        yield


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
