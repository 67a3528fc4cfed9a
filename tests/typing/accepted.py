"""Programs that both type checkers accept. Read by tests/test_typing.py; never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float32
from tensordict import TensorDict
from torch import Tensor
from typing_extensions import assert_type

from batchpact.contracts import Pipeline, Report, alias, contract_of, stage
from batchpact.dataproto import DataProto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    Fill,
    Finite,
    Meta,
    NonTensor,
    StageSchema,
    Tag,
    config,
    meta,
    named_by,
)

Rewards = Annotated[Float32[Tensor, "batch response"], Finite()]


class Whiten(StageSchema):
    """Shift and scale rewards."""

    class Reads(BatchSchema):
        rewards: Rewards
        baseline: Rewards | None = None
        uid: NonTensor[str]
        priority: Tag[float]
        temperature: Meta[float] | Float32[Tensor, "batch"]
        scale: Arg[float] = 1.0

    class Writes(BatchSchema):
        whitened: Rewards


class Scale(StageSchema):
    """Columns whose names stand elsewhere are mappings."""

    class Reads(BatchSchema):
        rewards: Rewards
        scores: Columns[NonTensor[float]] = named_by(meta("reward_extra_keys"))
        extra: Annotated[Columns[Rewards], Fill(0.0)] = named_by(config("data.extra", default=[]), optional=True)

    class Writes(BatchSchema):
        scaled: Columns[Rewards] = named_by(config("data.extra"))


@stage
def scale(batch: Scale.Reads) -> Scale.Writes:
    assert_type(batch.extra, Mapping[str, Tensor])
    first: float = batch.scores["acc"][0]
    return Scale.Writes(scaled={name: values * first for name, values in batch.extra.items()})


@stage
def whiten(batch: Whiten.Reads) -> Whiten.Writes:
    assert_type(batch.rewards, Tensor)
    assert_type(batch.scale, float)
    first: str = batch.uid[0]
    urgent: int = (batch.priority > 0.5).sum()
    shifted = batch.rewards if batch.baseline is None else batch.rewards - batch.baseline
    return Whiten.Writes(whitened=shifted * batch.scale + len(first) + urgent)


@stage(level="values")
def whiten_with_level(batch: Whiten.Reads, *, scale: float) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.rewards * scale)


@stage(Whiten)
def whiten_carriers(data: DataProto) -> DataProto:
    return DataProto.from_dict({"whitened": data.batch["rewards"]}) if data.batch is not None else data


@stage(Whiten)
def whiten_named(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.rewards)


@stage(Whiten, unpack=True, names={"index": "uid"})
def whiten_values(rewards: Tensor, index: np.ndarray, scale: float = 1.0) -> Tensor:
    return rewards


class Worker:
    @stage(Whiten)
    def whiten_carriers(self, data: DataProto) -> DataProto:
        return data

    @stage
    def whiten(self, batch: Whiten.Reads) -> Whiten.Writes:
        return Whiten.Writes(whitened=batch.rewards)

    whiten_values = whiten.as_("whiten_values", rename={"rewards": "values"}, args={"scale": 1.0})

    @stage(Whiten, unpack=True)
    def whiten_rewards(self, rewards: Tensor) -> Tensor:
        return rewards

    @stage
    async def whiten_later(self, batch: Whiten.Reads) -> Whiten.Writes:
        return Whiten.Writes(whitened=batch.rewards)


@stage
async def whiten_later(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.rewards)


@dataclass
class Keys:
    """TransferQueue's `KVBatchMeta`."""

    keys: list[str]
    tags: list[dict[str, Any]]
    partition_id: str | None
    fields: list[str] | None
    extra_info: dict[str, Any] | None


def calls(data: DataProto, td: TensorDict, reads: Whiten.Reads, keys: Keys, worker: Worker) -> None:
    assert_type(whiten(data), DataProto)
    assert_type(whiten(data, scale=2.0), DataProto)
    assert_type(whiten(td), TensorDict)
    assert_type(whiten(keys), Keys)
    assert_type(whiten(reads), Whiten.Writes)
    assert_type(whiten_with_level(data, scale=2.0), DataProto)
    assert_type(whiten_carriers(data), DataProto)
    assert_type(whiten_named(data), DataProto)
    assert_type(whiten_named(reads), Whiten.Writes)
    assert_type(worker.whiten_carriers(data), DataProto)
    assert_type(worker.whiten(data), DataProto)
    assert_type(worker.whiten(reads), Whiten.Writes)
    assert_type(data.union(whiten(data)), DataProto)
    assert_type(whiten_values(data, scale=2.0), DataProto)
    assert_type(whiten_values(reads.rewards, index=reads.uid), Tensor)
    assert_type(worker.whiten_rewards(data), DataProto)
    assert_type(worker.whiten_rewards(reads.rewards), Tensor)


def other_names(data: DataProto, td: TensorDict, reads: Whiten.Reads, worker: Worker) -> None:
    values = whiten.as_("whiten_values", rename={"rewards": "values"}, args={"scale": 1.0})
    assert_type(values(data), DataProto)
    assert_type(values(reads), Whiten.Writes)
    assert_type(alias(whiten, "whiten_values")(td), TensorDict)
    assert_type(alias(whiten_carriers, "whiten_values")(data), DataProto)
    assert_type(alias(worker.whiten, "whiten_values")(data), DataProto)
    assert_type(worker.whiten_values(data), DataProto)
    Pipeline("p", inputs=Whiten.Reads, stages=[values, worker.whiten_values, whiten_values])


def statements(data: DataProto, td: TensorDict, pipeline: Pipeline) -> Report:
    with Whiten.on(data, scale=2.0) as same, pipeline.observed({"use_critic": True}) as order:
        assert_type(same, DataProto)
    with Whiten.on(td) as same_td:
        assert_type(same_td, TensorDict)
    return order.report()


async def async_calls(data: DataProto, reads: Whiten.Reads, worker: Worker) -> None:
    assert_type(await whiten_later(data), DataProto)
    assert_type(await whiten_later(reads), Whiten.Writes)
    assert_type(await worker.whiten_later(reads), Whiten.Writes)


def building(rewards: Tensor, uid: np.ndarray, worker: Worker) -> Pipeline:
    Whiten.Reads(rewards=rewards, uid=uid, priority=uid, temperature=1.0)
    assert contract_of(whiten) is not None
    rows = [{"whitened": rewards[0]}]
    Whiten.Writes.check_row(rows[0], level="values")
    assert_type(Whiten.Writes.collate(rows, dims={"response": 8}, pad=True), Whiten.Writes)
    return Pipeline("p", inputs=Whiten.Reads, stages=[whiten, worker.whiten, whiten_carriers, Whiten])
