"""Keys that go from one process to another: a worker calls a stage with what its controller has."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from batchpact.schemas import ContractError
from tests.contracts.queue.support import everything, put, scale

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


class Scaler:
    """A worker; TransferQueue's own `init` connects it to the controller that is running."""

    def __init__(self, connects: bool) -> None:
        if connects:
            import transfer_queue

            transfer_queue.init()

    def scale(self, keys: Any) -> Any:
        return scale(keys)


@pytest.fixture
def worker(queue: Any) -> Any:
    import ray

    made = []

    def make(*, connects: bool) -> Any:
        made.append(ray.remote(num_cpus=0)(Scaler).remote(connects))
        return made[-1]

    yield make
    for actor in made:
        ray.kill(actor)


def test_a_worker_fetches_and_puts_and_the_controller_gets_keys(queue: Any, partition: str, worker: Any) -> None:
    import ray

    data = everything()
    keys = put(queue, data, partition)

    made = ray.get(worker(connects=True).scale.remote(keys))

    assert made == scale(keys)
    stored = queue.kv_batch_get(made.keys, partition, select_fields=["scaled"])["scaled"]
    assert torch.equal(torch.stack(stored.unbind()), data.batch["ids"].float() * 0.7)


def test_an_error_of_a_worker_arrives_as_it_was_raised(queue: Any, partition: str, worker: Any) -> None:
    import ray

    keys = put(queue, everything(), partition)
    queue.kv_clear(["k1"], partition)

    with pytest.raises(ContractError) as caught:
        ray.get(worker(connects=True).scale.remote(keys))

    assert [(violation.code, violation.where.stage) for violation in caught.value.violations] == [("BP054", "scale")]


def test_a_worker_that_is_not_connected_says_so(queue: Any, partition: str, worker: Any) -> None:
    import ray

    keys = put(queue, everything(), partition)

    with pytest.raises(ContractError, match="this process is not connected to TransferQueue"):
        ray.get(worker(connects=False).scale.remote(keys))
