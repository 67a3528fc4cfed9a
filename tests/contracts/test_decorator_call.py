"""Calling a stage: where the batch is, what passes through, and what runs under torch.compile."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from tests.contracts.stages import RETURNS, ComputeReturns, refusal, rewards, scored, stores_of, tensor_dict, written


@stage
def of_signature(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
    return ComputeReturns.Writes(returns=RETURNS)


@stage(ComputeReturns)
def of_schema(data: DataProto) -> DataProto:
    return written(returns=RETURNS)


@stage(ComputeReturns)
def with_more(first: int, data: DataProto, *rest: int, key: str = "k", **others: int) -> tuple[DataProto, Any]:
    return written(returns=RETURNS), (first, rest, key, others, sorted(data.batch.keys()))


def test_other_arguments_pass_through_and_the_batch_may_stand_anywhere() -> None:
    _, passed = with_more(1, scored(), 2, 3, key="x", other=4)

    assert passed == (1, (2, 3), "x", {"other": 4}, ["response_mask", "rewards"])


@pytest.mark.parametrize("kind", [scored, lambda: scored(tensor_dict)], ids=["ours", "tensordict"])
def test_the_batch_may_be_passed_by_keyword(kind: Any) -> None:
    result = of_signature(batch=kind())

    assert torch.equal(stores_of(result).tensors["returns"], RETURNS)


def test_the_first_carrier_is_the_batch() -> None:
    second = TensorDict({"mine": torch.ones(2)}, batch_size=[2])

    @stage(ComputeReturns)
    def two(data: DataProto, other: TensorDict) -> tuple[None, Any]:
        return None, (type(data).__name__, other)

    assert two(scored(), second) == (None, ("DataProto", second))


@pytest.mark.parametrize(
    ("args", "kwargs", "shown"),
    [
        ((), {}, "nothing"),
        ((3, "x"), {"data": None}, "int 3, str, None"),
        (({"rewards": rewards()},), {}, "dict of 1"),
        ((rewards(),), {}, "f32[4, 3]"),
    ],
)
def test_a_call_without_a_batch_is_refused(args: Any, kwargs: Any, shown: str) -> None:
    takes = "a stage takes a DataProto, a TensorDict, verl's DataProto"

    assert refusal(lambda: of_schema(*args, **kwargs)) == (
        f"1 problem where stage 'of_schema' is called\n\n  BP036 call  batch  called with {shown}; {takes}"
    )
    assert refusal(lambda: of_signature(*args, **kwargs)) == (
        f"1 problem where stage 'of_signature' is called\n\n"
        f"  BP036 call  batch  called with {shown}; {takes} or ComputeReturns.Reads"
    )


# --- torch.compile ---------------------------------------------------------------------------------------------------


def test_the_bare_function_runs_under_torch_compile() -> None:
    """Nothing of a boundary is traced: a tensor in the place of the batch is not even looked at."""

    @stage(ComputeReturns)
    def double(data: Any) -> Any:
        return data * 2

    compiled = torch.compile(double, backend="eager", fullgraph=True)

    assert torch.equal(compiled(rewards()), rewards() * 2)
    with pytest.raises(ContractError, match="BP036 call  batch  called with f32"):
        double(rewards())


def test_a_stage_may_be_called_in_a_compiled_function() -> None:
    @stage(ComputeReturns)
    def double(data: Any) -> Any:
        return data * 2

    compiled = torch.compile(lambda x: double(x) + 1, backend="eager", fullgraph=True)

    assert torch.equal(compiled(rewards()), rewards() * 2 + 1)
