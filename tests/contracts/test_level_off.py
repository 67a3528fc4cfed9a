"""A function is called at once with its own kind; every other call goes the way it always goes."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import contract_of, stage
from batchpact.contracts.level_off import unchecked
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, StageSchema

from .stages import ours, rewards, tensor_dict


class Double(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        returns: Float32[Tensor, "batch response"]


@stage(Double)
def of_carriers(data: DataProto) -> DataProto:
    return DataProto.from_dict({"returns": data.batch["rewards"] * 2})  # type: ignore[index]


@stage
def of_reads(batch: Double.Reads) -> Double.Writes:
    return Double.Writes(returns=batch.rewards * 2)


def called(function: Any, *args: Any, **kwargs: Any) -> Any:
    contract = contract_of(function)
    assert contract is not None
    return unchecked(contract, lambda args, kwargs: "the way it always goes")(args, kwargs)


def test_with_its_own_kind_a_function_is_called_at_once() -> None:
    batch = ours({"rewards": rewards()}, {}, {})

    assert torch.equal(called(of_reads, Double.Reads(rewards=rewards())).returns, rewards() * 2)
    assert torch.equal(called(of_carriers, batch).batch["returns"], rewards() * 2)
    assert batch.union(called(of_carriers, batch)).last_writer("returns") == "of_carriers"


def test_other_calls_go_the_way_they_always_go() -> None:
    batch, other = ours({"rewards": rewards()}, {}, {}), tensor_dict({"rewards": rewards()}, {}, {})

    assert called(of_reads, batch) == called(of_carriers, other) == "the way it always goes"
    assert called(of_carriers, data=batch) == "the way it always goes"
