"""Stages and optional fields that some rows lack: a stage sees which, and what it writes is there in every row."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Fill, StageSchema


class Optional(BatchSchema):
    reward: Float32[Tensor, "batch"]
    acc: Annotated[Float32[Tensor, "batch"], Fill(0.0)] | None = None


def batch() -> DataProto:
    one = DataProto.from_dict({"reward": torch.ones(1)}).bind(Optional)
    two = DataProto.from_dict({"reward": torch.ones(2), "acc": torch.tensor([0.5, 1.0])}).bind(Optional)
    return DataProto.concat([one, two])


class Guess(StageSchema):
    """Guess what is absent."""

    class Reads(BatchSchema):
        acc: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        acc: Float32[Tensor, "batch"]


def guessed(data: DataProto) -> torch.Tensor:
    present = torch.from_numpy(data.presence("acc"))
    assert present.tolist() == [False, True, True]
    return torch.where(present, data.batch["acc"], data.batch["acc"][present].mean())


@stage(Guess)
def as_a_new_batch(data: DataProto) -> DataProto:
    return DataProto.from_dict({"acc": guessed(data)})


@stage(Guess)
def in_the_input(data: DataProto) -> DataProto:
    data.batch["acc"] = guessed(data)
    return data


@stage(Guess)
def in_a_part_of_the_input(data: DataProto) -> DataProto:
    data.batch["acc"] = guessed(data)
    return data.select(["acc"])


def test_a_stage_sees_which_rows_are_absent_and_what_it_writes_is_there() -> None:
    for function in (as_a_new_batch, in_the_input, in_a_part_of_the_input):
        data = batch()

        result = function(data)
        data.union(result)

        assert data.batch["acc"].tolist() == [0.75, 0.5, 1.0]
        assert data.presence("acc").tolist() == [True, True, True]
