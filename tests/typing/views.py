"""What an editor says of a name: programs that both type checkers accept. Read by tests/test_typing.py; never run."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from hypothesis.strategies import SearchStrategy
from jaxtyping import Float32
from tensordict import TensorDict
from torch import Tensor
from typing_extensions import assert_type

from batchpact.contracts import (
    Event,
    Figures,
    Pipeline,
    Report,
    StageFuture,
    WorkerGroup,
    alias,
    checking,
    from_rows,
    infer,
    observe,
    stage,
    trace,
    when,
)
from batchpact.contracts.events import StepObserver, to_tensorboard, to_wandb
from batchpact.contracts.testing import Sampler, batches, sample, samples
from batchpact.contracts.testing.sampler import Sample
from batchpact.dataproto import DataProto, DataProtoItem
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    Condition,
    Jagged,
    Meta,
    NonTensor,
    StageSchema,
    Tag,
    config,
    named_by,
)
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl import grpo


@dataclass
class VerlDataProto:
    """The stores of verl's `DataProto` as verl declares them."""

    batch: TensorDict = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    non_tensor_batch: dict = field(default_factory=dict)  # type: ignore[type-arg]
    meta_info: dict = field(default_factory=dict)  # type: ignore[type-arg]

    def __len__(self) -> int:
        return 0


class Score(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        values: Annotated[Float32[Tensor, "batch response"], Jagged("response")]
        baseline: Float32[Tensor, "batch response"] | None = None
        uid: NonTensor[str]
        note: NonTensor[dict[str, int]] | None = None
        priority: Tag[float]
        temperature: Meta[float] | Float32[Tensor, "batch"]
        names: Meta[list[str]] | None = None
        scale: Arg[float] = 1.0
        extra: Columns[NonTensor[float]] = named_by(config("data.extra"))
        heads: Columns[Float32[Tensor, "batch"]] = named_by(config("data.heads"))
        responses: f.Responses
        global_steps: f.GlobalSteps
        kl_coef: f.KlCoef = 0.001

    class Writes(BatchSchema):
        scores: Float32[Tensor, "batch response"]
        loss: Meta[float] | None = None


class ScoreMore(Score):
    class Reads(Score.Reads):
        step: Meta[int]


Column = np.ndarray[Any, np.dtype[Any]]


@stage
def score(batch: Score.Reads) -> Score.Writes:
    assert_type(batch.rewards, Tensor)
    assert_type(batch.values, Tensor)
    assert_type(batch.baseline, "Tensor | None")
    assert_type(batch.uid, Column)
    assert_type(batch.note, "Column | None")
    assert_type(batch.priority, Column)
    assert_type(batch.temperature, "float | Tensor")
    assert_type(batch.names, "list[str] | None")
    assert_type(batch.scale, float)
    assert_type(batch.extra, Mapping[str, Column])
    assert_type(batch.heads, Mapping[str, Tensor])
    assert_type(batch.responses, Tensor)
    assert_type(batch.global_steps, int)
    assert_type(batch.kl_coef, float)
    return Score.Writes(scores=batch.rewards)


@stage
def score_more(batch: ScoreMore.Reads) -> ScoreMore.Writes:
    assert_type(batch.step, int)
    assert_type(batch.rewards, Tensor)
    return from_rows(ScoreMore.Writes(scores=batch.rewards, loss=0.5), [0])


@stage
def with_more(batch: Score.Reads) -> tuple[Score.Writes, dict[str, float], int]:
    return Score.Writes(scores=batch.rewards), {}, 1


@stage(Score)
async def with_more_later(batch: Score.Reads) -> tuple[Score.Writes, int]:
    return Score.Writes(scores=batch.rewards), 1


@stage(Score, unpack=True)
def of_values(rewards: Tensor, scale: float = 1.0) -> Tensor:
    return rewards * scale


@stage(Score, unpack=True)
async def of_values_later(rewards: Tensor) -> Tensor:
    return rewards


@stage(Score)
def of_tensordict(batch: TensorDict) -> TensorDict:
    return batch


@stage(Score)
def of_verl(batch: VerlDataProto) -> VerlDataProto:
    return batch


@stage(Score)
async def of_carriers_later(batch: DataProto) -> DataProto:
    return batch


@stage
async def score_later(batch: Score.Reads) -> Score.Writes:
    return Score.Writes(scores=batch.rewards)


class Worker:
    @stage
    def score(self, batch: Score.Reads) -> Score.Writes:
        return Score.Writes(scores=batch.rewards)

    @stage
    async def score_later(self, batch: Score.Reads) -> Score.Writes:
        return Score.Writes(scores=batch.rewards)

    @stage(level="values")
    def with_more(self, batch: Score.Reads) -> tuple[Score.Writes, int]:
        return Score.Writes(scores=batch.rewards), 1

    @stage(Score)
    def of_tensordict(self, batch: TensorDict) -> TensorDict:
        return batch

    @stage(Score, unpack=True)
    def of_values(self, rewards: Tensor) -> Tensor:
        return rewards

    other = score.as_("other")
    other_later = score_later.as_("other_later")


def calls(data: DataProto, td: TensorDict, verl: VerlDataProto, reads: Score.Reads, worker: Worker) -> None:
    either = data if len(data) else td
    assert_type(score(verl), VerlDataProto)
    assert_type(score(either), "DataProto | TensorDict")
    assert_type(with_more(data), tuple[DataProto, dict[str, float], int])
    assert_type(with_more(reads), tuple[Score.Writes, dict[str, float], int])
    assert_type(of_values(verl), VerlDataProto)
    assert_type(of_tensordict(td), TensorDict)
    assert_type(of_verl(verl), VerlDataProto)
    assert_type(worker.score(verl), VerlDataProto)
    assert_type(worker.with_more(td), tuple[TensorDict, int])
    assert_type(worker.of_tensordict(td), TensorDict)
    assert_type(worker.of_values(verl), VerlDataProto)


def other_names(data: DataProto, verl: VerlDataProto, reads: Score.Reads, worker: Worker) -> None:
    assert_type(score.as_("other")(verl), VerlDataProto)
    assert_type(score_later.as_("other")(data), Awaitable[DataProto])
    assert_type(of_values.as_("other")(data), DataProto)
    assert_type(of_values.as_("other")(reads.rewards), Tensor)
    assert_type(with_more.as_("other")(data), tuple[DataProto, dict[str, float], int])
    assert_type(alias(worker.score, "other")(reads), Score.Writes)
    assert_type(worker.other(data), DataProto)
    assert_type(worker.other_later(reads), Awaitable[Score.Writes])


async def awaited(data: DataProto, verl: VerlDataProto, reads: Score.Reads, worker: Worker) -> None:
    assert_type(await score_later(verl), VerlDataProto)
    assert_type(await worker.score_later(verl), VerlDataProto)
    assert_type(await of_values_later(data), DataProto)
    assert_type(await of_values_later(reads.rewards), Tensor)
    assert_type(await of_carriers_later(data), DataProto)
    assert_type(await with_more_later(data), tuple[DataProto, int])


def blocks(data: DataProto, verl: VerlDataProto) -> None:
    with Score.on(verl, scale=2.0) as batch:
        assert_type(batch, VerlDataProto)
    with trace(config={"rollout": {"n": 2}}) as record:
        assert_type(record.source("loop"), str)
    assert_type((record + record).calls, list[str])
    with checking("values", sample=64), observe(StepObserver(print)), observe(Figures().add), observe(told):
        assert_type(infer(data, data, name="Rollout"), str)


def told(event: Event) -> None:
    assert_type(event.stage, str)
    assert_type(event.seconds, float)


def groups(data: DataProto) -> None:
    """What a group's methods are, only the run knows: their results are Any."""
    with WorkerGroup(Worker, dp=2, backend="local") as group:
        assert_type(group, WorkerGroup)
        assert_type(group.world_size, int)
        assert_type(group.score(data), Any)
        assert_type(group.score.remote(data), StageFuture)
        assert_type(group.call_all("score"), list[Any])
        loop = Pipeline("p", inputs=Score.Reads, stages=[Worker().score])
        assert_type(loop.run(data, workers={"score": group}), DataProto)


def batches_of_schemas() -> None:
    assert_type(sample(Score.Reads, batch=8, dims={"response": 4}, overrides={0: {"uid": "a"}}), DataProto)
    drawn = Sampler(Score.Reads).draw(8, seed=1)
    assert_type(drawn.batch, DataProto)
    assert_type(drawn.args, dict[str, Any])
    assert_type(batches(Score.Reads), SearchStrategy[DataProto])
    assert_type(samples(Score.Reads), SearchStrategy[Sample])


def pipelines(data: DataProto, td: TensorDict, verl: VerlDataProto) -> None:
    condition = config("algorithm.use_kl") == True  # noqa: E712
    assert_type(condition, Condition)
    loop = Pipeline(
        "loop",
        inputs=Score.Reads,
        stages=[score, with_more, of_values, when(condition, score_more), grpo.Generate],
        always=[condition],
    )
    assert_type(loop.run(data), DataProto)
    assert_type(loop.run(td, {"algorithm": {"use_kl": True}}), TensorDict)
    assert_type(loop.run(verl), VerlDataProto)
    assert_type(loop.check(), Report)
    assert_type(loop.check().findings[0].where.stage, "str | None")


def containers(data: DataProto) -> None:
    assert_type(data.batch, "TensorDict | None")
    assert_type(data.non_tensor_batch["uid"], np.ndarray[tuple[int, ...], np.dtype[np.generic]])
    assert_type(data.meta_info, dict[str, Any])
    assert_type(data[0], DataProtoItem)
    assert_type(data[:2], DataProto)
    assert_type(data[[0, 1]].union(data), DataProto)
    assert_type(data.chunk(2), list[DataProto])
    assert_type(data.bind(Score.Reads), DataProto)
    assert_type(Score.Reads.collate([]), Score.Reads)


ready_observers = (to_wandb, to_tensorboard)
