"""Functions of plain values: which fields they are given, and where their results go."""

from __future__ import annotations

import types

import pytest
import torch
from torch import Tensor

from batchpact.contracts import trace
from batchpact.dataproto import DataProto
from tests.contracts.inferring.drafts import run


def advantages(scores: Tensor, index: object, *, lam: float, scale: float = 2.0, switch: bool = False, **rest: object):  # type: ignore[no-untyped-def]
    found = scores * lam * scale
    return found, found


def batch() -> DataProto:
    return DataProto.from_dict({"rewards": torch.rand(2, 3)}, {"uid": ["a", "b"]})


def drafted(scale: float) -> types.ModuleType:
    data = batch()
    with trace(advantages, config={"algorithm": {"lam": 0.5}}) as record:
        made = advantages(
            data.batch["rewards"], data.non_tensor_batch["uid"], lam=0.5, scale=scale, other=data.batch["rewards"]
        )
        data.batch["advantages"], data.batch["returns"] = made
    return run(record.source())


def test_fields_are_known_by_their_memory_and_results_by_where_they_go() -> None:
    (stage,) = drafted(2.0).traced.spec.stages

    assert [field.key for field in stage.reads.fields] == ["rewards", "uid", "lam"]
    assert [field.key for field in stage.writes.fields] == ["advantages", "returns"]


def test_an_argument_has_its_default_and_the_key_that_fills_it() -> None:
    """One that nobody gave another value than its default is no part of the contract."""
    reads = {field.key: field for field in drafted(3.0).traced.spec.stages[0].reads.fields}

    assert list(reads) == ["rewards", "uid", "lam", "scale"]
    assert (reads["lam"].source, reads["lam"].required) == ("algorithm.lam", True)
    assert (reads["scale"].default, reads["scale"].places[0].placement) == (2.0, "arg")


def test_what_no_batch_holds_is_called_like_its_parameter_in_a_function_that_is_named() -> None:
    def both(scores: Tensor) -> Tensor:
        return scores + 1

    with trace(both) as named:
        both(torch.rand(2, 3))
    with trace() as unnamed:
        both(torch.rand(2, 3))

    assert [field.key for field in run(named.source()).traced.spec.inputs.fields] == []
    assert named.calls == ["both"] and unnamed.calls == []


def test_looks_at_a_store_that_it_is_given_are_seen() -> None:
    def with_store(scores: Tensor, batch: object) -> Tensor:
        return scores + batch["mask"]  # type: ignore[index,no-any-return]

    data = DataProto.from_dict({"rewards": torch.rand(2, 3), "mask": torch.ones(2, 3), "other": torch.ones(2)})
    with trace(with_store) as record:
        data.batch["advantages"] = with_store(data.batch["rewards"], data.batch)
    (stage,) = run(record.source()).traced.spec.stages

    assert [field.key for field in stage.reads.fields] == ["rewards", "mask"]


def test_numbers_alone_are_no_call() -> None:
    def add(left: int, right: int) -> int:
        return left + right

    with trace(add) as record:
        add(1, 2)

    assert record.calls == []


@pytest.mark.parametrize("depth", [1, 3])
def test_the_batch_is_found_through_decorators(depth: int) -> None:
    data = batch()
    function = advantages
    for _ in range(depth):
        function = torch.no_grad()(function)
    with trace(advantages) as record:
        data.batch["advantages"] = function(data.batch["rewards"], None, lam=0.5)[0]

    (stage,) = run(record.source()).traced.spec.stages
    assert stage.reads.fields[0].key == "rewards"
