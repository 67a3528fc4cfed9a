"""Instances of Reads and Writes at a boundary."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage, use_config
from batchpact.dataproto import column
from batchpact.schemas import Arg, BatchSchema, ContractError, From, Meta, Name, NonTensor, StageSchema
from batchpact.schemas.instances import instance_stores
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    ours,
    refusal,
    returns_of,
    rewards,
    scored,
    stores_of,
)


@stage
def compute(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
    return ComputeReturns.Writes(returns=returns_of(batch.rewards, batch.gamma, batch.scale))


def reads(**changes: Any) -> ComputeReturns.Reads:
    values: dict[str, Any] = {
        "rewards": rewards(),
        "response_mask": torch.ones(4, 3, dtype=torch.int64),
        "uid": column(["a", "a", "b", "b"]),
        "gamma": 0.5,
    }
    return ComputeReturns.Reads(**(values | changes))


def test_called_with_its_reads_a_stage_returns_its_writes() -> None:
    result = compute(reads())

    assert type(result) is ComputeReturns.Writes
    assert torch.equal(result.returns, RETURNS)


def test_a_reads_is_checked_like_a_batch() -> None:
    bad = reads(rewards=rewards().double(), gamma=[0.5] * 4)

    assert refusal(lambda: compute(bad)) == (
        "2 problems where stage 'compute' reads its batch\n\n"
        "  BP005 dtype  rewards  f64, declared f32; cast it where it is made: x.to(torch.float32)\n"
        "  BP006 type   gamma    list of 4, declared meta float"
    )


def test_the_writes_of_a_call_with_reads_are_checked_too() -> None:
    @stage
    def wrong(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards[:, :2])

    assert refusal(lambda: wrong(reads())) == (
        "1 problem where stage 'wrong' returns its result\n\n"
        '  BP012 shape  returns  f32[4, 2], declared "batch response"; response=3 in what the stage read\n\n'
        "  dims  response=2 (returns)  batch=4 (returns)"
    )


@pytest.mark.parametrize("by_keyword", [False, True])
def test_a_subclass_of_the_reads_is_one(by_keyword: bool) -> None:
    class More(ComputeReturns.Reads):
        values: Float32[Tensor, "batch response"]

    more = More(**reads().__dict__, values=rewards())
    result = compute(batch=more) if by_keyword else compute(more)

    assert torch.equal(result.returns, RETURNS)


def test_a_function_of_carriers_does_not_take_a_reads() -> None:
    of_carriers = stage(ComputeReturns, name="compute")(lambda data: None)

    assert refusal(lambda: of_carriers(reads())) == (
        "1 problem where stage 'compute' is called\n\n"
        "  BP036 call  batch  called with Reads; a stage takes a DataProto, a TensorDict, verl's DataProto"
    )


@in_every_container
def test_a_writes_may_come_from_a_function_of_carriers(container: Container) -> None:
    of_carriers = stage(ComputeReturns)(lambda data: ComputeReturns.Writes(returns=RETURNS))

    assert torch.equal(stores_of(of_carriers(scored(container))).tensors["returns"], RETURNS)


def test_an_optional_write_that_is_none_is_not_written() -> None:
    class Optional(ComputeReturns):
        class Writes(BatchSchema):
            returns: Float32[Tensor, "batch response"]
            norms: Float32[Tensor, "batch"] | None = None

    function = stage(Optional)(lambda data: Optional.Writes(returns=RETURNS))

    assert stores_of(function(scored())).names() == ["returns"]


def test_none_for_a_required_write_is_refused() -> None:
    function = stage(ComputeReturns, name="compute")(lambda data: ComputeReturns.Writes(returns=None))

    assert refusal(lambda: function(scored())) == (
        "1 problem where stage 'compute' returns its result\n\n"
        '  BP006 type  returns  None, declared f32 "batch response"'
    )


@pytest.mark.parametrize(
    ("made_with", "called_with", "expected"),
    [
        ({}, {}, (0.3, 5)),
        ({"coef": 0.5, "top": 2}, {}, (0.5, 2)),
        ({"coef": 0.5, "top": 2}, {"coef": 0.6, "top": 3}, (0.6, 3)),
    ],
    ids=["left open", "in the Reads", "in the call"],
)
def test_an_argument_in_a_reads_counts_after_the_call_and_before_the_configuration(
    made_with: Any, called_with: Any, expected: Any
) -> None:
    class Defaults(StageSchema):
        class Reads(BatchSchema):
            coef: Annotated[Arg[float], From("algorithm.coef")] = 0.1
            top: Arg[int] = 5

    seen: list[tuple[float, int]] = []

    @stage
    def weigh(batch: Defaults.Reads) -> None:
        seen.append((batch.coef, batch.top))

    with use_config({"algorithm": {"coef": 0.3}}):
        weigh(Defaults.Reads(**made_with), **called_with)

    assert seen == [expected]


class Named(StageSchema):
    class Reads(BatchSchema):
        turns: Annotated[NonTensor[int], Name("__num_turns__")]
        temperature: Meta[float] | Float32[Tensor, "batch"]


@pytest.mark.parametrize("temperature", [0.5, torch.ones(2)], ids=["meta", "tensor"])
def test_keys_and_placements_are_found(temperature: Any) -> None:
    seen: list[Any] = []

    @stage
    def named(batch: Named.Reads) -> None:
        seen.append((batch.turns.tolist(), batch.temperature))

    place = {"temperature": temperature}
    tensors, meta = (place, {}) if isinstance(temperature, Tensor) else ({}, place)
    batch = ours({"x": torch.ones(2), **tensors}, {"__num_turns__": [1, 2]}, meta)
    named(batch)
    named(Named.Reads(turns=column([1, 2]), temperature=temperature))

    assert seen[0] == seen[1]
    assert seen[0][0] == [1, 2]


def test_an_instance_is_sorted_by_keys_and_kinds() -> None:
    turns = column([1, 2])
    per_row = instance_stores(Named.Reads(turns=turns, temperature=torch.ones(2)))
    for_all = instance_stores(Named.Reads(turns=turns, temperature=0.5))

    assert (list(per_row.tensors), list(per_row.columns), list(per_row.meta)) == (
        ["temperature"],
        ["__num_turns__"],
        [],
    )
    assert (list(for_all.tensors), for_all.columns["__num_turns__"] is turns, for_all.meta) == (
        [],
        True,
        {"temperature": 0.5},
    )


def test_extra_fields_of_an_open_schema_are_sorted_by_kind() -> None:
    class Open(BatchSchema, extra="allow"):
        gamma: Meta[float]

    values = {"gamma": 0.5, "norms": torch.ones(2), "notes": np.array(["a", "b"]), "steps": 3}
    stores = instance_stores(Open(**values))

    assert (list(stores.tensors), list(stores.columns), stores.meta) == (
        ["norms"],
        ["notes"],
        {"gamma": 0.5, "steps": 3},
    )


def test_an_open_reads_has_every_field_of_the_batch() -> None:
    class Open(StageSchema):
        class Reads(BatchSchema, extra="allow"):
            gamma: Meta[float]

    seen: list[Any] = []

    @stage
    def everything(batch: Open.Reads) -> None:
        seen.extend([batch.rewards, batch.data_source.tolist(), batch.global_steps])

    batch = scored()
    everything(batch)

    assert seen[0] is batch.batch["rewards"]
    assert seen[1:] == [["math", "math", "code", "code"], 7]


@in_every_container
def test_undeclared_columns_of_an_open_reads_are_read_only(container: Container) -> None:
    class Open(StageSchema):
        class Reads(BatchSchema, extra="allow"):
            uid: NonTensor[str]

    @stage
    def turn(batch: Open.Reads) -> None:
        batch.data_source[0] = "changed"  # type: ignore[attr-defined]

    with pytest.raises(ValueError, match="read-only"):
        turn(scored(container))


def test_an_undeclared_name_without_a_stage_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^ComputeReturns\.Reads declares no field 'values'$"):
        _ = reads().values
    with pytest.raises(ContractError):
        compute(reads(gamma=None))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda instance: pickle.loads(pickle.dumps(instance))])
def test_a_copy_of_a_reads_that_was_handed_out_does_not_take_the_callers_batch_along(again: Any) -> None:
    kept: list[ComputeReturns.Reads] = []

    @stage
    def keep(batch: ComputeReturns.Reads) -> None:
        kept.append(again(batch))

    data = scored()
    data.meta_info["unpicklable"] = lock = threading.Lock()
    keep(data)

    assert lock is data.meta_info["unpicklable"]
    assert torch.equal(kept[0].rewards, rewards())
    with pytest.raises(AttributeError, match=r"^ComputeReturns.Reads declares no field 'unpicklable'$"):
        kept[0].unpicklable  # noqa: B018


def test_what_a_function_sets_on_its_reads_is_scratch() -> None:
    @stage
    def shift(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        batch.rewards = batch.rewards + 1
        return ComputeReturns.Writes(returns=batch.rewards)

    mine = reads(scale=1.0)
    shift(mine)

    assert torch.equal(mine.rewards, rewards())
