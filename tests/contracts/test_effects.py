"""What a stage did: fields that it must not write, inputs that it changed, results that carry a graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32
from tensordict import TensorDict
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, Meta, MissingFieldError, StageSchema
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    VerlLike,
    in_every_container,
    refusal,
    run,
    scored,
    stores_of,
    tensor_dict,
    written,
)

AT_THE_END = "where stage 'compute' returns its result\n\n"
NOT_ASKED = "its Writes do not declare it; declare it, leave it out of the result, or set extra='allow' on Writes"


# --- what stands in the result ---------------------------------------------------------------------------------------


def test_undeclared_writes_are_refused_in_every_store() -> None:
    def compute(data: DataProto) -> DataProto:
        return written(returns=RETURNS, norms=torch.ones(4), notes=["a", "b", "c", "d"], seconds=3)

    assert refusal(lambda: run(compute)) == (
        f"3 problems {AT_THE_END}"
        f"  BP004 unasked  norms    returned tensor f32[4]; {NOT_ASKED}\n"
        f"  BP004 unasked  notes    returned 4 objects in non_tensor_batch; {NOT_ASKED}\n"
        f"  BP004 unasked  seconds  returned int in meta_info; {NOT_ASKED}"
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [([1.0, 2.0, 3.0, 4.0], "4 objects in non_tensor_batch"), (1.5, "float in meta_info")],
)
def test_a_write_in_the_wrong_store_is_refused(value: object, found: str) -> None:
    assert refusal(lambda: run(lambda data: written(returns=value))) == (
        f'1 problem {AT_THE_END}  BP003 place  returns  {found}; declared f32 "batch response"'
    )


def test_a_missing_write_is_refused() -> None:
    assert refusal(lambda: run(lambda data: DataProto()), MissingFieldError) == (
        f'1 problem {AT_THE_END}  BP001 missing  returns  declared f32 "batch response"; no name in the result is close'
    )


def test_a_misspelt_write_is_named_where_the_right_one_is_missing() -> None:
    assert refusal(lambda: run(lambda data: written(return_=RETURNS))) == (
        f'2 problems {AT_THE_END}  BP001 missing  returns  declared f32 "batch response"; '
        "closest name in the result: 'return_' (tensor f32[4, 3])\n"
        f"  BP004 unasked  return_  returned tensor f32[4, 3]; {NOT_ASKED}"
    )


def test_the_dims_that_the_reads_bound_hold_for_the_writes() -> None:
    assert refusal(lambda: run(lambda data: written(returns=RETURNS[:, :2]))) == (
        f'1 problem {AT_THE_END}  BP012 shape  returns  f32[4, 2], declared "batch response"; '
        "response=3 in what the stage read\n\n"
        "  dims  response=2 (returns)  batch=4 (returns)"
    )


def test_the_rows_that_came_in_hold_for_the_writes() -> None:
    assert refusal(lambda: run(lambda data: written(returns=RETURNS[:2]))) == (
        f'1 problem {AT_THE_END}  BP012 shape  returns  f32[2, 3], declared "batch response"; '
        "batch=4 in what the stage read\n\n"
        "  dims  response=3 (returns)  batch=2 (returns)"
    )


def test_a_write_of_another_dtype_is_refused() -> None:
    assert refusal(lambda: run(lambda data: written(returns=RETURNS.double()))) == (
        f"1 problem {AT_THE_END}  BP005 dtype  returns  f64, declared f32; "
        "cast it where it is made: x.to(torch.float32)"
    )


def test_extra_allow_on_writes_takes_any_name() -> None:
    class Open(ComputeReturns):
        class Writes(BatchSchema, extra="allow"):
            returns: Float32[Tensor, "batch response"]

    @stage(Open)
    def compute(data: DataProto) -> DataProto:
        return written(returns=RETURNS, notes=["a", "b", "c", "d"], seconds=3)

    assert stores_of(compute(scored())).names() == ["returns", "notes", "seconds"]


def test_extra_allow_on_reads_hands_out_everything_and_writes_stay_closed() -> None:
    class Open(ComputeReturns):
        class Reads(BatchSchema, extra="allow"):
            rewards: Float32[Tensor, "batch response"]

    @stage(Open, name="compute")
    def compute(data: DataProto) -> DataProto:
        assert data.batch is not None
        return written(returns=data.batch["values"], values=data.batch["values"] + 1)

    assert refusal(lambda: compute(scored())) == (
        f"1 problem {AT_THE_END}  BP004 unasked  values  returned tensor f32[4, 3]; {NOT_ASKED}"
    )


# --- graphs ----------------------------------------------------------------------------------------------------------


def with_graph(data: DataProto) -> DataProto:
    return written(returns=RETURNS * torch.ones(1, requires_grad=True))


def test_a_result_with_a_graph_is_refused() -> None:
    """Case W6: memory would grow with every step."""
    assert refusal(lambda: run(with_graph)) == (
        f"1 problem {AT_THE_END}  BP032 graph  returns  it carries an autograd graph; a result is a value; "
        "run under torch.no_grad(), detach it, or declare graph = 'allow'"
    )


def test_graph_allow_lets_it_through() -> None:
    class Losses(ComputeReturns):
        graph = "allow"

    result = stage(Losses)(with_graph)(scored())

    assert result.batch["returns"].grad_fn is not None


# --- containers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [scored(), scored(tensor_dict)], ids=["ours", "tensordict"])
def test_a_result_may_come_in_another_kind_than_the_batch(batch: Any) -> None:
    theirs = run(lambda data: VerlLike(TensorDict({"returns": RETURNS}, batch_size=[4])), batch)
    ours_ = run(lambda data: written(returns=RETURNS), batch)

    assert type(theirs) is type(ours_) is type(batch)
    assert torch.equal(stores_of(theirs).tensors["returns"], stores_of(ours_).tensors["returns"])


class Metrics(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        metrics: Meta[dict[str, float]]


@in_every_container
def test_a_stage_may_write_meta_alone(container: Container) -> None:
    @stage
    def measure(batch: Metrics.Reads) -> Metrics.Writes:
        return Metrics.Writes(metrics={"mean": batch.rewards.mean().item()})

    result = measure(scored(container))

    assert stores_of(result).meta == {"metrics": {"mean": 6.5}}


def test_a_graph_in_meta_is_refused_also_in_a_dict_of_metrics() -> None:
    class Update(StageSchema):
        class Reads(BatchSchema):
            rewards: Float32[Tensor, "batch response"]

        class Writes(BatchSchema):
            loss: Meta[Tensor]
            metrics: Meta[dict[str, Any]]

    @stage
    def update(batch: Update.Reads) -> Update.Writes:
        loss = (batch.rewards * torch.ones(3, requires_grad=True)).sum()
        return Update.Writes(loss=loss, metrics={"loss": loss, "steps": 3, "detached": loss.detach()})

    advice = "a result is a value; run under torch.no_grad(), detach it, or declare graph = 'allow'"
    assert refusal(lambda: update(scored())) == (
        "2 problems where stage 'update' returns its result\n\n"
        f"  BP032 graph  loss     it carries an autograd graph; {advice}\n"
        f"  BP032 graph  metrics  ['loss'] carries an autograd graph; {advice}"
    )


@in_every_container
def test_undeclared_fields_of_an_open_writes_have_the_rows_of_the_result(container: Container) -> None:
    class Open(ComputeReturns):
        class Writes(BatchSchema, extra="allow"):
            returns: Float32[Tensor, "batch response"]

    @stage
    def compute(batch: Open.Reads) -> Open.Writes:
        extra: dict[str, Any] = {"short": torch.ones(2), "scalar": torch.tensor(1.0), "notes": column(["a"] * 5)}
        return Open.Writes(returns=RETURNS, fits=torch.ones(4), seconds=3, **extra)

    assert refusal(lambda: compute(scored(container))) == (
        f"3 problems {AT_THE_END}"
        "  BP012 shape  short   tensor f32[2], declared nowhere; the result has 4 rows\n"
        "  BP012 shape  scalar  tensor f32[], declared nowhere; the result has 4 rows\n"
        "  BP012 shape  notes   5 objects in non_tensor_batch, declared nowhere; the result has 4 rows"
    )
