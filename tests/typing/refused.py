"""Mistakes that both type checkers refuse, in the lines that end in `# refused`. Read by tests/test_typing.py."""

from __future__ import annotations

from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Pipeline, stage
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, Columns, Meta, NonTensor, StageSchema, meta, named_by


class Whiten(StageSchema):
    """Shift and scale rewards."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        temperature: Meta[float]
        scale: Arg[float] = 1.0

    class Writes(BatchSchema):
        whitened: Float32[Tensor, "batch response"]


@stage
def reads_undeclared(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.values)  # refused


@stage
def misspells(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.reward)  # refused


@stage
def writes_undeclared(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.rewards, advantages=batch.rewards)  # refused


@stage
def writes_nothing(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes()  # refused


@stage
def writes_a_float(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.temperature)  # refused


@stage
def healthy(batch: Whiten.Reads) -> Whiten.Writes:
    return Whiten.Writes(whitened=batch.rewards)


class Scale(StageSchema):
    class Reads(BatchSchema):
        scores: Columns[NonTensor[float]] = named_by(meta("reward_extra_keys"))

    class Writes(BatchSchema):
        scaled: Columns[Float32[Tensor, "batch"]] = named_by(meta("reward_extra_keys"), optional=True)


@stage
def one_column_for_all(batch: Scale.Reads) -> Scale.Writes:
    return Scale.Writes(scaled=batch.scores["acc"])  # refused


@stage
def no_columns(batch: Scale.Reads) -> Scale.Writes:
    return Scale.Writes()  # refused


@stage
def writes_into_its_columns(batch: Scale.Reads) -> Scale.Writes:
    batch.scores["acc"] = batch.scores["f1"]  # refused
    return Scale.Writes(scaled={"acc": 3})  # refused


named_by("reward_extra_keys")  # refused


@stage(Whiten, unpack=True)
def values(rewards: Tensor) -> Tensor:
    return rewards


class Worker:
    @stage
    def whiten(self, batch: Whiten.Reads) -> Whiten.Writes:
        return Whiten.Writes(whitened=batch.rewards)


@stage
def returns_its_batch(batch: Whiten.Reads) -> tuple[Whiten.Writes, int]:
    return Whiten.Writes(whitened=batch.rewards), batch.rewards  # refused


def calls(data: DataProto, worker: Worker) -> None:
    healthy(3)  # refused
    result: int = healthy(data)  # refused
    Pipeline("p", inputs=Whiten, stages=[healthy])  # refused
    Whiten.Writes.check_row([1])  # refused
    Whiten.Writes.check_row({}, level="off")  # refused
    reads: Whiten.Reads = Whiten.Writes.collate([{}])  # refused
    values(3)  # refused
    values(reward=data)  # refused
    healthy.as_("other", renames={})  # refused
    worker.whiten.as_("other")  # refused
    stage(Whiten, names={"index": "uid"})  # refused
    with Whiten.on() as batch:  # refused
        print(batch)
    data["rewards"]  # refused
    text: str = returns_its_batch(data)[1]  # refused
    Whiten.Reads(rewards=data.batch["rewards"], temperature="hot")  # refused
    stage(3)  # refused
    print(result, reads, text)
