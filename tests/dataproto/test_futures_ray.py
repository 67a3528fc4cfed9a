"""Futures of real Ray workers: parts go from one group of workers to the next, and the driver fetches none of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from batchpact.dataproto import DataProto, DataProtoFuture, column

pytestmark = [pytest.mark.ray, pytest.mark.slow]
ray = pytest.importorskip("ray")


class Rollout:
    """Makes a part."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def generate(self, rows: int) -> DataProto:
        uid = column(f"{self.rank}-{row}" for row in range(rows))
        return DataProto.from_dict({"ids": torch.full((rows, 2), self.rank)}, {"uid": uid}, {"k": 1})

    def fail(self) -> DataProto:
        raise ValueError(f"rank {self.rank} is out of memory")


class Reward:
    """Takes a part of the batch that another group is making."""

    def score(self, batch: DataProtoFuture) -> DataProto:
        data = batch.get()
        assert isinstance(data, DataProto) and data.batch is not None
        return DataProto.from_dict({"score": data.batch["ids"].sum(-1)}, {"uid": data.non_tensor_batch["uid"]})


@pytest.fixture(scope="module")
def rollouts(cluster: None) -> list[Any]:
    return [ray.remote(Rollout).options(num_cpus=0).remote(rank) for rank in range(2)]


def test_a_batch_goes_from_group_to_group_without_the_driver(rollouts: list[Any]) -> None:
    rewards = [ray.remote(Reward).options(num_cpus=0).remote() for _ in range(3)]
    made = DataProtoFuture.concat([rollout.generate.remote(3) for rollout in rollouts])

    scored = DataProtoFuture.concat(
        [reward.score.remote(part) for reward, part in zip(rewards, made.chunk(3), strict=True)]
    )

    result = made.get().union(scored.get())
    assert result.batch["ids"].tolist() == [[0, 0]] * 3 + [[1, 1]] * 3
    assert result.batch["score"].tolist() == [0, 0, 0, 2, 2, 2]
    assert list(result.non_tensor_batch["uid"]) == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]
    assert result.meta_info == {"k": 1}


def test_what_was_fetched_can_be_written(rollouts: list[Any]) -> None:
    data = DataProtoFuture.concat([rollouts[0].generate.remote(2)]).get()
    assert isinstance(data, DataProto) and data.batch is not None

    data.batch["ids"] += 1

    assert data.batch["ids"].tolist() == [[1, 1], [1, 1]]


def test_the_error_of_a_worker_arrives(rollouts: list[Any]) -> None:
    future = DataProtoFuture.concat([rollouts[0].generate.remote(1), rollouts[1].fail.remote()])

    with pytest.raises(ValueError, match="rank 1 is out of memory"):
        future.get()


def test_parts_that_differ_are_named(rollouts: list[Any]) -> None:
    other = ray.put(DataProto.from_dict({"ids": torch.ones(1, 3, dtype=torch.int64)}, {"uid": ["a"]}))

    with pytest.raises(ValueError, match=r"i64 rows of \[2\] in part 0, i64 rows of \[3\] in part 1"):
        DataProtoFuture.concat([rollouts[0].generate.remote(1), other]).get()
