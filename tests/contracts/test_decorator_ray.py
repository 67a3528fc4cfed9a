"""Stages as methods of a real Ray actor, which does not see methods that are no functions."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from tests.contracts.stages import RETURNS, ComputeReturns, returns_of, rewards, scored, written

pytestmark = [pytest.mark.ray, pytest.mark.slow]
ray = pytest.importorskip("ray")


class Critic:
    """What a team has in its workers."""

    def __init__(self, bias: float) -> None:
        self.bias = bias

    @stage(ComputeReturns)
    def of_schema(self, data: DataProto) -> DataProto:
        return written(returns=data.batch["rewards"] + self.bias)

    @stage
    def of_signature(self, batch: ComputeReturns.Reads, scale: float) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=returns_of(batch.rewards, batch.gamma, scale))

    @stage(ComputeReturns)
    def scaled(self, data: DataProto) -> DataProto:
        """It does not take its argument: Ray compares a call with the signature before the stage sees it."""
        return written(returns=data.batch["rewards"] * data.meta_info["scale"])

    @stage(ComputeReturns)
    def peeking(self, data: DataProto) -> None:
        data.batch.get("values", None)


class AsyncCritic(Critic):
    @stage
    async def ask(self, batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards * 2)


@pytest.fixture
def critic(cluster: None) -> Any:
    return ray.remote(AsyncCritic).options(num_cpus=0).remote(0.5)


def test_both_forms_run_in_an_actor(critic: Any) -> None:
    batch = scored()

    of_schema, of_signature = ray.get([critic.of_schema.remote(batch), critic.of_signature.remote(batch, scale=2.0)])

    assert torch.equal(of_schema.batch["returns"], rewards() + 0.5)
    assert torch.equal(of_signature.batch["returns"], RETURNS * 2)
    assert batch.union(of_signature).last_writer("returns") == "of_signature"


def test_an_argument_that_the_method_does_not_take_is_passed_to_an_actor_all_the_same(critic: Any) -> None:
    result = ray.get(critic.scaled.remote(scored(), scale=3.0))

    assert torch.equal(result.batch["returns"], rewards() * 3)


def test_an_async_method_runs_in_an_actor(critic: Any) -> None:
    assert torch.equal(ray.get(critic.ask.remote(scored())).batch["returns"], rewards() * 2)


def test_the_error_of_a_worker_arrives_whole(critic: Any) -> None:
    batch = scored()
    batch.meta_info.pop("gamma")

    with pytest.raises(ContractError) as caught:
        ray.get(critic.of_schema.remote(batch))

    assert str(caught.value.cause) == (
        "1 problem where stage 'of_schema' reads its batch\n\n"
        "  BP001 missing  gamma  declared meta float; no name in the batch is close"
    )
    assert caught.value.cause.violations[0].where.stage == "of_schema"


def test_what_is_withheld_is_known_in_a_worker(critic: Any) -> None:
    with pytest.raises(KeyError, match="BP002 withheld  values  the caller's batch holds tensor"):
        ray.get(critic.peeking.remote(scored()))


def test_a_stage_can_be_a_task(cluster: None) -> None:
    from tests.contracts.test_decorator import of_signature

    result = ray.get(ray.remote(of_signature).remote(scored()))

    assert torch.equal(result.batch["returns"], RETURNS)
