"""`@stage`: three forms, one real function."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import contract_of, from_rows, stage
from batchpact.contracts.origins import FromRows
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, ContractError, DeclarationError, StageSchema
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    refusal,
    returns_of,
    rewards,
    scored,
    stores_of,
    tensor_dict,
    written,
)


@stage
def of_signature(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
    """Sum the rewards, by the signature."""
    return ComputeReturns.Writes(returns=returns_of(batch.rewards, batch.gamma))


@stage(ComputeReturns)
def of_schema(data: DataProto) -> DataProto:
    """Sum the rewards, by a schema.

    The second paragraph is no part of the description.
    """
    return written(returns=returns_of(data.batch["rewards"], data.meta_info["gamma"]))


@stage(ComputeReturns)
def without_doc(data: DataProto) -> DataProto:
    return written(returns=RETURNS)


@stage
async def async_of_signature(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
    return ComputeReturns.Writes(returns=returns_of(batch.rewards, batch.gamma))


@stage(ComputeReturns)
async def async_of_schema(data: DataProto) -> DataProto:
    return written(returns=returns_of(data.batch["rewards"], data.meta_info["gamma"]))


class Critic:
    def __init__(self, bias: float) -> None:
        self.bias = bias

    @stage(ComputeReturns)
    def of_schema(self, data: DataProto) -> DataProto:
        return written(returns=data.batch["rewards"] + self.bias)

    @stage
    def of_signature(self, batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards + self.bias)

    @stage
    async def ask(self, batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards + self.bias)

    @staticmethod
    @stage
    def static(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards)

    @classmethod
    @stage
    def of_class(cls, batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards)


STAGES = [
    of_signature,
    of_schema,
    async_of_signature,
    async_of_schema,
    Critic.of_schema,
    Critic.of_signature,
    Critic.ask,
]
every_stage = pytest.mark.parametrize("function", STAGES, ids=lambda function: function.__qualname__)


# --- the three forms -------------------------------------------------------------------------------------------------


@in_every_container
def test_the_signature_is_the_contract(container: Container) -> None:
    result = of_signature(scored(container))

    assert torch.equal(stores_of(result).tensors["returns"], RETURNS)


def test_a_schema_is_the_contract() -> None:
    assert torch.equal(of_schema(scored()).batch["returns"], RETURNS)


@pytest.mark.parametrize("batch", [scored(), scored(tensor_dict)], ids=["ours", "tensordict"])
def test_methods_are_stages(batch: Any) -> None:
    critic = Critic(0.5)

    assert torch.equal(stores_of(critic.of_signature(batch)).tensors["returns"], rewards() + 0.5)
    assert torch.equal(stores_of(Critic.of_signature(critic, batch)).tensors["returns"], rewards() + 0.5)
    assert torch.equal(stores_of(Critic.static(batch)).tensors["returns"], rewards())
    assert torch.equal(stores_of(critic.of_class(batch)).tensors["returns"], rewards())


def test_a_method_of_a_schema_is_a_stage() -> None:
    assert torch.equal(Critic(0.5).of_schema(scored()).batch["returns"], rewards() + 0.5)


async def test_async_functions_and_methods_are_stages() -> None:
    for call in (async_of_signature, async_of_schema):
        assert torch.equal((await call(scored())).batch["returns"], RETURNS)
    assert torch.equal((await Critic(0.5).ask(scored())).batch["returns"], rewards() + 0.5)


async def test_an_async_stage_is_refused_where_it_is_awaited() -> None:
    waiting = async_of_schema(DataProto())

    with pytest.raises(ContractError, match="where stage 'async_of_schema' reads its batch"):
        await waiting


@pytest.mark.parametrize("settings", [{}, {"name": "sum"}, {"level": "values"}, {"project": "off"}])
def test_settings_go_before_either_form(settings: Any) -> None:
    typed = stage(**settings)(of_signature.contract.function)
    of_carriers = stage(ComputeReturns, **settings)(of_schema.contract.function)

    for function in (typed, of_carriers):
        assert torch.equal(function(scored()).batch["returns"], RETURNS)
        contract = contract_of(function)
        assert contract is not None
        assert contract.name == settings.get("name", function.__name__)
        assert (contract.level, contract.project) == (settings.get("level"), settings.get("project", "on"))


class Shorten(StageSchema):
    rows = "select"
    Reads, Writes = ComputeReturns.Reads, ComputeReturns.Writes


@stage
def in_a_tuple(batch: ComputeReturns.Reads) -> tuple[ComputeReturns.Writes, int]:
    return ComputeReturns.Writes(returns=RETURNS), 3


@stage
def maybe(batch: ComputeReturns.Reads) -> ComputeReturns.Writes | None:
    return None


@stage
def in_rows(batch: Shorten.Reads) -> FromRows[Shorten.Writes]:
    return from_rows(Shorten.Writes(returns=RETURNS), [0, 1, 2, 3])


@stage
def nothing(batch: ComputeReturns.Reads) -> None:
    return None


@pytest.mark.parametrize("function", [in_a_tuple, maybe, in_rows], ids=["tuple", "optional", "FromRows"])
def test_the_writes_are_found_inside_the_annotation_of_the_result(function: Any) -> None:
    assert [field.key for field in function.contract.spec.writes.fields] == ["returns"]


def test_a_result_of_none_declares_no_writes() -> None:
    contract = contract_of(nothing)

    assert contract is not None
    assert contract.spec.writes.fields == ()
    assert nothing(scored()) is None


def test_the_facts_come_from_the_schema_that_owns_the_reads() -> None:
    class Losses(StageSchema):
        graph = "allow"
        drops = ("values",)

        class Reads(ComputeReturns.Reads): ...

        class Writes(ComputeReturns.Writes): ...

    @stage
    def losses(batch: Losses.Reads) -> Losses.Writes:
        return Losses.Writes(returns=batch.rewards)

    assert (losses.contract.spec.graph, losses.contract.spec.drops) == ("allow", ("values",))


# --- a real function -------------------------------------------------------------------------------------------------


@every_stage
def test_a_stage_is_a_function_that_looks_like_its_function(function: Any) -> None:
    original = function.contract.function

    assert inspect.isfunction(function)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(function, attribute) == getattr(original, attribute)
    signature, declared = inspect.signature(function), inspect.signature(original)
    assert signature.return_annotation == declared.return_annotation
    assert list(signature.parameters.values())[: len(declared.parameters)] == list(declared.parameters.values())
    assert inspect.iscoroutinefunction(function) == inspect.iscoroutinefunction(original)


def test_the_signature_of_a_stage_has_the_arguments_of_its_contract() -> None:
    """Ray checks a call against it before anything is sent."""
    assert str(inspect.signature(of_signature)) == (
        "(batch: 'ComputeReturns.Reads', *, scale=1.0) -> 'ComputeReturns.Writes'"
    )


@every_stage
def test_a_stage_pickles_by_its_name(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(
    ("function", "description"),
    [
        (of_signature, "Sum the rewards, by the signature."),
        (of_schema, "Sum the rewards, by a schema."),
        (without_doc, "Sum the rewards that are still to come."),
    ],
)
def test_the_description_is_the_functions_first_paragraph_or_else_the_schemas(function: Any, description: str) -> None:
    assert function.contract.spec.description == description


def test_a_bound_method_has_the_contract_of_its_function() -> None:
    assert contract_of(Critic(0.0).of_schema) is contract_of(Critic.of_schema) is Critic.__dict__["of_schema"].contract
    assert contract_of(print) is None


def test_under_a_named_schema_a_function_may_take_its_reads() -> None:
    @stage(ComputeReturns)
    def named(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=batch.rewards)

    assert torch.equal(named(scored()).batch["returns"], scored().batch["rewards"])


def test_under_a_named_schema_a_function_does_not_take_another_reads() -> None:
    def mistaken(batch: ComputeReturns.Reads) -> None: ...

    class Other(StageSchema):
        class Reads(BatchSchema): ...

    name = "test_under_a_named_schema_a_function_does_not_take_another_reads."
    assert refusal(lambda: stage(Other)(mistaken), DeclarationError) == (
        f"1 problem in the stage {name}mistaken\n\n  BP051 declared  {name}mistaken  "
        f"it takes ComputeReturns.Reads, and {name}Other reads {name}Other.Reads"
    )


def test_reads_and_writes_need_no_stage_schema_and_no_docstring() -> None:
    class Given(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Made(BatchSchema):
        total: Float32[Tensor, "batch"]

    @stage
    def total(batch: Given) -> Made:
        return Made(total=batch.rewards.sum(1))

    assert (total.contract.spec.description, total.contract.spec.rows.kind) == ("", "same")
    assert total(scored()).batch["total"].tolist() == [6.0, 15.0, 24.0, 33.0]
