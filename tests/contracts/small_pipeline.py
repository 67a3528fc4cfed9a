"""A small pipeline: a stage that takes an argument, one that drops, a rewrite, a selection, meta, and no output."""

from __future__ import annotations

from typing import Annotated, Any

from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import Pipeline, from_rows, stage
from batchpact.contracts.origins import FromRows
from batchpact.schemas import (
    Arg,
    BatchSchema,
    From,
    Meta,
    NonTensor,
    StageSchema,
)
from tests.contracts.stages import (
    ComputeReturns,
    returns_of,
)


class Start(BatchSchema):
    rewards: Float32[Tensor, "batch response"]
    response_mask: Int64[Tensor, "batch response"]
    values: Float32[Tensor, "batch response"]
    uid: NonTensor[str]
    gamma: Meta[float]


class ComputeAdvantage(StageSchema):
    drops = ("values",)

    class Reads(BatchSchema):
        returns: Float32[Tensor, "batch response"]
        values: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        advantages: Float32[Tensor, "batch response"]


class Normalise(StageSchema):
    class Reads(BatchSchema):
        advantages: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        advantages: Float32[Tensor, "batch response"]


class KeepBest(StageSchema):
    rows = "select"

    class Reads(BatchSchema):
        advantages: Float32[Tensor, "batch response"]
        keep: Annotated[Arg[int], From("algorithm.keep")] = 3

    class Writes(BatchSchema):
        best: Float32[Tensor, "batch"]


class Measure(StageSchema):
    class Reads(BatchSchema):
        best: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        metrics: Meta[dict[str, float]]


@stage
def compute_returns(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
    return ComputeReturns.Writes(returns=returns_of(batch.rewards, batch.gamma, batch.scale))


@stage
def compute_advantage(batch: ComputeAdvantage.Reads) -> ComputeAdvantage.Writes:
    return ComputeAdvantage.Writes(advantages=batch.returns - batch.values)


@stage
def normalise(batch: Normalise.Reads) -> Normalise.Writes:
    return Normalise.Writes(advantages=batch.advantages - batch.advantages.mean())


@stage
def keep_best(batch: KeepBest.Reads) -> FromRows[KeepBest.Writes]:
    total = batch.advantages.sum(1)
    rows = total.argsort(descending=True)[: batch.keep]
    return from_rows(KeepBest.Writes(best=total[rows]), rows)


@stage
def measure(batch: Measure.Reads) -> Measure.Writes:
    return Measure.Writes(metrics={"best": batch.best.max().item()})


@stage
def log(batch: Measure.Reads) -> None:
    return None


STAGES = [compute_returns, compute_advantage, normalise, keep_best, measure, log]


def pipeline(*stages: Any, name: str = "small", outputs: tuple[str, ...] = ()) -> Pipeline:
    return Pipeline(name, inputs=Start, stages=stages or STAGES, outputs=outputs)
