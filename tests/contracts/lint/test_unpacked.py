"""Functions of plain values: an unused parameter is an unused read, and no batch is looked for."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import contract_of, stage
from batchpact.contracts.lint.linter import lint
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor, StageSchema

PerToken = Float32[Tensor, "batch response"]


class Advantage(StageSchema):
    class Reads(BatchSchema):
        rewards: PerToken
        values: PerToken
        uid: NonTensor[str]
        gamma: Arg[float] = 1.0

    class Writes(BatchSchema):
        advantages: PerToken


def findings(staged: Any) -> list[tuple[str, str]]:
    contract = contract_of(staged)
    assert contract is not None
    return [(found.code, found.field) for found in lint([contract]).report.findings]


@stage(Advantage, unpack=True, names={"index": "uid"})
def uses_all(rewards: Tensor, values: Tensor, index: Any, gamma: float) -> Tensor:
    return gamma * rewards - values[index]


@stage(Advantage, unpack=True, names={"index": "uid"})
def leaves_some(rewards: Tensor, values: Tensor, index: Any, gamma: float = 1.0) -> Tensor:
    return rewards + rewards.sum()


@stage(Advantage, unpack=True)
def takes_some(rewards: Tensor, **more: Any) -> Tensor:
    return rewards


@stage(Advantage, unpack=True)
def takes_the_rest(rewards: Tensor, **more: Any) -> Tensor:
    return rewards * more["gamma"]


@stage(Advantage, unpack=True)
def takes_no_argument(rewards: Tensor, values: Tensor, uid: Any) -> Tensor:
    return rewards - values[uid]


class Summed(StageSchema):
    class Reads(BatchSchema):
        rewards: PerToken
        values: PerToken
        scale: Meta[float]

    class Writes(BatchSchema):
        total: PerToken


@stage(Summed, unpack=True)
def takes_stores(rewards: Tensor, batch: Any, meta_info: Any) -> Tensor:
    return rewards + batch["values"] + batch["returns"]


@stage(Summed)
def calls_it(data: DataProto) -> DataProto:
    batch = data.batch
    total = takes_stores(batch["rewards"], batch, data.meta_info)
    return DataProto.from_dict({"total": total * data.meta_info["scale"] + batch["values"]})


def test_what_the_code_uses_is_used() -> None:
    assert findings(uses_all) == []


def test_an_unused_parameter_is_an_unused_read() -> None:
    assert findings(leaves_some) == [("BP074", "values"), ("BP074", "uid"), ("BP074", "gamma")]


def test_keywords_of_any_name_are_used_where_the_code_uses_them() -> None:
    assert findings(takes_some) == [("BP074", "values"), ("BP074", "uid"), ("BP074", "gamma")]
    assert findings(takes_the_rest) == []


def test_an_argument_that_no_parameter_takes_is_a_setting_that_does_nothing() -> None:
    assert findings(takes_no_argument) == [("BP074", "gamma")]


def test_a_store_is_looked_into() -> None:
    assert findings(takes_stores) == [("BP074", "scale"), ("BP071", "returns")]


def test_a_call_with_plain_values_is_no_call_with_a_batch() -> None:
    assert findings(calls_it) == []
