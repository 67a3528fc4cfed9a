"""The workers of the tests: a class with stages of many kinds, in a module that Ray's workers can import."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import from_rows, stage
from batchpact.dataproto import DataProto, column
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Finite,
    From,
    Group,
    Jagged,
    Merge,
    Meta,
    NonTensor,
    Pad,
    Repeat,
    StageSchema,
    When,
    config,
    present,
)

PerToken = Float32[Tensor, "batch response"]
Tokens = Annotated[Float32[Tensor, "batch length"], Jagged("length")]


class Values(StageSchema):
    """Arguments, a configuration, columns in and out, and meta that every part counts in."""

    class Reads(BatchSchema):
        rewards: PerToken
        uid: NonTensor[str]
        gamma: Meta[float]
        scale: Annotated[Arg[float], From("algorithm.scale")] = 1.0
        shift: Annotated[Meta[float], From("algorithm.shift")] = 0.0
        bonus: Annotated[PerToken, When(config("use_bonus") == True)]  # noqa: E712  # a condition
        marked: Annotated[NonTensor[str], When(present("others"))]

    class Writes(BatchSchema):
        values: PerToken
        names: NonTensor[dict[str, Any]]
        rows: Annotated[Meta[int], Merge("sum")]
        highest: Annotated[Meta[dict[str, float]], Merge("max")]


class Lengthen(StageSchema):
    class Reads(BatchSchema):
        tokens: Tokens

    class Writes(BatchSchema):
        longer: Tokens
        widths: Float32[Tensor, "batch"]


class Neutral(StageSchema):
    pad_safe = True

    class Reads(BatchSchema):
        rewards: Annotated[PerToken, Pad(0.0)]

    class Writes(BatchSchema):
        doubled: PerToken
        total: Annotated[Meta[float], Merge("sum")]


class Advantage(StageSchema):
    """Each row beside the mean of its group."""

    pad_safe = True

    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch"]
        uid: Annotated[NonTensor[str], Group()]

    class Writes(BatchSchema):
        advantages: Annotated[Float32[Tensor, "batch"], Finite()]


class Generate(StageSchema):
    """Each part is as wide as its longest row."""

    class Reads(BatchSchema):
        rewards: PerToken

    class Writes(BatchSchema):
        responses: Annotated[Float32[Tensor, "batch width"], Pad(-1.0, "right")]


class Choose(StageSchema):
    rows = "select"

    class Reads(BatchSchema):
        rewards: PerToken

    class Writes(BatchSchema):
        kept: Float32[Tensor, "batch"]


class FromMeta(StageSchema):
    """Nothing that it reads has rows."""

    class Reads(BatchSchema):
        size: Meta[int]

    class Writes(BatchSchema):
        kept: Float32[Tensor, "batch"]


class Turn(Choose):
    rows = "permute"


class Twice(Choose):
    rows = Repeat(2)


class Score(StageSchema):
    """What can be passed on: nothing of it changes when parts are joined."""

    class Reads(BatchSchema):
        rewards: PerToken

    class Writes(BatchSchema):
        scores: Float32[Tensor, "batch"]
        tags: NonTensor[str]
        temperature: Meta[float]


class Scale(StageSchema):
    """Reads what `Score` writes, and nothing else."""

    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch"]
        tags: NonTensor[str]
        temperature: Meta[float]
        factor: Arg[float] = 2.0

    class Writes(BatchSchema):
        scaled: Float32[Tensor, "batch"]


class Best(StageSchema):
    """The rows above 2, whichever stage comes before."""

    rows = "select"

    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        best: Float32[Tensor, "batch"]


class Halve(StageSchema):
    class Reads(BatchSchema):
        total: Meta[float]

    class Writes(BatchSchema):
        half: Meta[float]


class Critic:
    """What a team has in its workers."""

    def __init__(self, bias: float = 0.5, fails: bool = False) -> None:
        if fails:
            raise ValueError("no weights")
        self.bias = bias
        self.seen: list[list[float]] = []

    @stage
    def values(self, batch: Values.Reads, scale: float) -> Values.Writes:
        self.seen.append(batch.rewards[:, 0].tolist())
        made = batch.rewards * batch.gamma * scale + self.bias + batch.shift
        if getattr(batch, "bonus", None) is not None:
            made = made + batch.bonus
        marked = getattr(batch, "marked", None)
        names = batch.uid if marked is None else marked
        return Values.Writes(
            values=made,
            names=column([{"name": name} for name in names]),
            rows=len(made),
            highest={"value": float(made.max()) if len(made) else 0.0},
        )

    @stage(Lengthen)
    def lengthen(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        rows = data.batch["tokens"].unbind()
        longer = torch.nested.nested_tensor([row * 2 for row in rows], layout=torch.jagged)
        return DataProto.from_dict({"longer": longer, "widths": torch.tensor([float(len(row)) for row in rows])})

    @stage(Neutral)
    def neutral(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        rewards = data.batch["rewards"]
        self.seen.append(rewards[:, 0].tolist())
        return DataProto.from_dict({"doubled": rewards * 2}, {}, {"total": float(rewards[:, 0].sum())})

    @stage
    def advantage(self, batch: Advantage.Reads) -> Advantage.Writes:
        uids = batch.uid.tolist()
        self.seen.append(batch.scores.tolist())
        means = {uid: batch.scores[[other == uid for other in uids]].mean() for uid in uids}
        return Advantage.Writes(advantages=batch.scores - torch.tensor([float(means[uid]) for uid in uids]))

    @stage
    def generate(self, batch: Generate.Reads) -> Generate.Writes:
        lengths = batch.rewards[:, :1]
        written = torch.arange(int(lengths.max())) < lengths
        return Generate.Writes(responses=torch.where(written, lengths, torch.tensor(-1.0)))

    @stage(Choose)
    def choose(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        kept = data[data.batch["rewards"][:, 0] != 4.0]
        kept.batch["kept"] = kept.batch["rewards"][:, 0] * 2
        return kept

    @stage(Twice)
    def twice(self, data: DataProto) -> DataProto:
        repeated = data.repeat(2)
        assert repeated.batch is not None
        repeated.batch["kept"] = torch.ones(len(repeated))
        return repeated

    @stage
    def turn(self, batch: Turn.Reads) -> Turn.Writes:
        order = np.arange(len(batch.rewards))[::-1].copy()
        return from_rows(Turn.Writes(kept=batch.rewards[order, 0]), order)

    @stage(Values)
    def nothing(self, data: DataProto) -> None:
        """This rank has no output."""

    @stage(Score)
    def score(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        scores = data.batch["rewards"][:, 0] + self.bias
        return DataProto.from_dict(
            {"scores": scores}, {"tags": [f"tag {score}" for score in scores.tolist()]}, {"temperature": 0.5}
        )

    @stage(Scale)
    def scale(self, data: DataProto, factor: float) -> DataProto:
        assert data.batch is not None
        self.seen.append(data.batch["scores"].tolist())
        return DataProto.from_dict({"scaled": data.batch["scores"] * data.meta_info["temperature"] * factor})

    @stage(Best)
    def best(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        chosen = data[data.batch["scores"] > 2.0]
        chosen.batch["best"] = chosen.batch["scores"] * 1
        return chosen

    @stage(Halve)
    def halve(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({}, {}, {"half": data.meta_info["total"] / 2})

    @stage
    async def ask(self, batch: Generate.Reads) -> Generate.Writes:
        """A judge is asked for each row, and the answers take turns."""
        await asyncio.sleep(0.01)
        self.seen.append(batch.rewards[:, 0].tolist())
        return Generate.Writes(responses=batch.rewards * 2)

    @stage
    async def ask_in_vain(self, batch: Generate.Reads) -> Generate.Writes:
        await asyncio.sleep(0)
        raise TimeoutError("the judge is out")

    @stage(Score)
    def in_a_tuple(self, data: DataProto) -> tuple[DataProto | None, float, int]:
        """The batch, and two values beside it."""
        assert data.batch is not None
        return self.score(data), float(data.batch["rewards"][0, 0]), len(data)

    @stage(Score)
    def nothing_in_a_tuple(self, data: DataProto) -> tuple[None, int]:
        return None, len(data)

    @stage(Score)
    def tuples_that_differ(self, data: DataProto) -> tuple[Any, ...]:
        assert data.batch is not None
        made = self.score(data)
        return (made, 1, 2) if float(data.batch["rewards"].max()) > 4 else (made, 1)

    @stage(Score)
    def scores_or_raises(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        if float(data.batch["rewards"].max()) > 4:
            raise ValueError("no score")
        return self.score(data)

    @stage(Score)
    def no_score(self, data: DataProto) -> None:
        """This rank has no output."""

    @stage(FromMeta)
    def from_meta(self, data: DataProto) -> DataProto:
        return DataProto.from_dict({"kept": torch.full((data.meta_info["size"],), self.bias)})

    @stage(Generate, project="off")
    def open_handed(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        return DataProto.from_dict({"responses": data.batch["unused"]})

    @stage(Generate, project="record")
    def recorded(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        return DataProto.from_dict({"responses": data.batch["unused"]})

    # --- what goes wrong ---

    @stage(Values)
    def sometimes_nothing(self, data: DataProto) -> DataProto | None:
        assert data.batch is not None
        return None if float(data.batch["rewards"].max()) > 4 else self.values(data)

    @stage(Values)
    def raises(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        if float(data.batch["rewards"].max()) > 4:
            raise KeyError(f"row of {self.bias}")
        return self.values(data)

    @stage(Generate)
    def wrong_dtype(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        rewards = data.batch["rewards"]
        return DataProto.from_dict({"responses": rewards.double() if float(rewards.max()) > 4 else rewards})

    @stage(Generate)
    def loses_a_row(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        return DataProto.from_dict({"responses": data.batch["rewards"][1:]})

    @stage(Generate)
    def writes_into_it(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        data.batch["rewards"].add_(1.0)
        return DataProto.from_dict({"responses": data.batch["rewards"]})

    @stage(Generate)
    def peeks(self, data: DataProto) -> None:
        assert data.batch is not None
        data.batch.get("unused", None)

    @stage(Generate)
    def dies(self, data: DataProto) -> None:
        assert data.batch is not None
        if float(data.batch["rewards"].max()) > 4:
            os._exit(1)

    @torch.no_grad()
    @stage(Generate)
    def decorated(self, data: DataProto) -> None:
        """Something stands above the stage."""

    # --- plain methods ---

    def shows(self, factor: float = 1.0) -> float:
        return self.bias * factor

    def firsts(self) -> list[list[float]]:
        """The first column of what each call so far was given."""
        return self.seen

    def refuses(self) -> None:
        raise ValueError("not today")
