"""A padded batch at a boundary: refused where pad rows would count, and unpadded after whatever happened to it."""

from __future__ import annotations

import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto, pad_dataproto_to_divisor, unpad_dataproto
from batchpact.schemas import BatchSchema, StageSchema
from tests.contracts.stages import refusal


class Double(StageSchema):
    """Double the rewards."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        doubled: Float32[Tensor, "batch"]


class DoubleSafely(Double):
    """Double the rewards of rows that count."""

    pad_safe = True


def rewards() -> DataProto:
    return DataProto.from_dict({"rewards": torch.tensor([1.0, 2.0, 3.0])})


def double(data: DataProto) -> DataProto:
    assert data.batch is not None
    counts = torch.from_numpy(~data.pad_mask)
    return DataProto.from_dict({"doubled": data.batch["rewards"] * 2 * counts})


def test_a_stage_that_is_not_pad_safe_refuses_pad_rows() -> None:
    padded, _ = pad_dataproto_to_divisor(rewards(), 8)

    assert refusal(lambda: stage(Double)(double)(padded)) == (
        "1 problem where stage 'double' reads its batch\n\n"
        "  BP033 padded  batch  5 pad rows of 8; the stage is not pad_safe"
    )


def test_what_a_pad_safe_stage_writes_is_unpadded_with_the_batch() -> None:
    padded, pad_size = pad_dataproto_to_divisor(rewards(), 4)

    written = stage(DoubleSafely)(double)(padded)
    padded.union(written)
    padded.reorder([3, 2, 1, 0])
    data = unpad_dataproto(padded, pad_size)

    assert data.batch is not None
    assert data.batch["doubled"].tolist() == [6.0, 4.0, 2.0]
    assert stage(Double)(double)(data).batch["doubled"].tolist() == [6.0, 4.0, 2.0]
