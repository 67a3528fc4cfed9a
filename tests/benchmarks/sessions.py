"""A session of Ray for figures: the memory of its store was touched before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tests.ray_sessions import own_session


@contextmanager
def touched_session(num_cpus: int) -> Iterator[None]:
    """The first puts go into memory that was never touched, at ten times the cost: here they are over."""
    import ray

    with own_session(num_cpus=num_cpus, object_store_memory=5 << 30):
        refs = [ray.put(np.zeros(2**27, np.uint8)) for _ in range(34)]
        del refs
        yield
