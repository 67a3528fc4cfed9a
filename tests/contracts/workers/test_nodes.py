"""Several nodes, by Ray's own cluster on one machine: one of them is lost in the middle of a stage."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from batchpact.contracts import WorkerError, WorkerGroup
from batchpact.dataproto import DataProto
from tests.contracts.workers.faulty import Sleeper
from tests.ray_sessions import own_session

pytestmark = [pytest.mark.ray, pytest.mark.slow]
ray = pytest.importorskip("ray")

ONE_A_NODE = {"num_cpus": 0, "resources": {"gpu_node": 1}}
LONG, SHORT = 60.0, 0.0


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head for the controller, and two nodes that each have room for one worker."""
    from ray.cluster_utils import Cluster

    ray.shutdown()  # of the session that other tests share
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        made.add_node(num_cpus=1, resources={"gpu_node": 1})
    with own_session(address=made.address):
        yield made
    made.shutdown()


def batch_of(seconds: float) -> DataProto:
    rewards = torch.arange(12.0).reshape(6, 2)
    return DataProto.from_dict({"rewards": rewards}, {"uid": list("abcdef")}, {"seconds": seconds})


def test_a_node_that_is_lost_in_the_middle_of_a_stage_is_one_error_and_a_new_one_takes_its_place(cluster: Any) -> None:
    batch = batch_of(LONG)
    before = copy.deepcopy(batch)
    options = {**ONE_A_NODE, "max_restarts": 1}
    with WorkerGroup(Sleeper, dp=2, backend="ray", ray_options=options) as group:
        nodes = group.call_all("node")
        assert len(set(nodes)) == 2

        future = group.slow.remote(batch)
        time.sleep(1.0)  # both workers are in the stage
        began = time.monotonic()
        cluster.remove_node(next(node for node in cluster.worker_nodes if node.node_id == nodes[1]))
        with pytest.raises(WorkerError, match=r"^stage 'slow' on rank 1, rows \[3, 6\): the worker ") as caught:
            future.get()

        assert time.monotonic() - began < LONG / 2, "nobody waits for the other one, who is still in the stage"
        assert caught.value.rank == 1
        assert batch == before
        cluster.add_node(num_cpus=1, resources={"gpu_node": 1})
        made = again(group)
    assert torch.equal(made.batch["row_sums"], batch_of(SHORT).batch["rewards"].sum(-1))


def again(group: WorkerGroup) -> DataProto:
    """The call, as soon as Ray has started the lost worker anew; its own way of finding that out takes a while."""
    patience = time.monotonic() + 120
    while True:
        try:
            made: DataProto = group.slow(batch_of(SHORT))
            return made
        except WorkerError as error:
            assert "the worker" in error.cause
            assert time.monotonic() < patience
            time.sleep(0.5)
