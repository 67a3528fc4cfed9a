"""`@stage(Schema, unpack=True)`: functions of plain values, called with a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import checking, contract_of, from_rows, stage, use_config
from batchpact.dataproto import DataProto, column
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    ContractError,
    DeclarationError,
    From,
    Meta,
    MissingFieldError,
    NonTensor,
    StageSchema,
    UndeclaredReadError,
    When,
    config,
    named_by,
)
from tests.contracts.stages import (
    Container,
    in_every_container,
    ours,
    refusal,
    rewards,
    scored,
    stores_of,
)


class Advantage(StageSchema):
    """Rewards against the mean of their group."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        response_mask: Int64[Tensor, "batch response"]
        uid: NonTensor[str]
        weights: Float32[Tensor, "batch response"] | None = None
        gamma: Meta[float] = 1.0
        scale: Annotated[Arg[float], From("algorithm.scale")] = 1.0

    class Writes(BatchSchema):
        advantages: Float32[Tensor, "batch response"]
        returns: Float32[Tensor, "batch response"]


def advantage(
    rewards: Tensor,
    response_mask: Tensor,
    index: np.ndarray,
    gamma: float,
    scale: float,
    weights: Tensor | None = None,
    epsilon: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Rewards against a baseline."""
    assert index.tolist() == ["a", "a", "b", "b"]
    found = scale * gamma * rewards * response_mask + epsilon
    return (found if weights is None else found * weights), rewards.clone()


staged = stage(Advantage, unpack=True, names={"index": "uid"})(advantage)


class Doubled(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        doubled: Float32[Tensor, "batch response"]


def tensors_of(batch: object) -> Any:
    return stores_of(batch).tensors


@in_every_container
def test_parameters_are_filled_by_name_and_the_result_becomes_the_writes(container: Container) -> None:
    batch = scored(container)

    result = staged(batch, scale=2.0)

    assert type(result) is type(batch)
    assert stores_of(result).names() == ["advantages", "returns"]
    assert torch.equal(tensors_of(result)["advantages"], 2.0 * 0.5 * rewards())
    assert stores_of(batch).names() == stores_of(scored(container)).names()


def test_it_is_a_stage_with_a_record() -> None:
    contract = contract_of(staged)

    assert contract is not None
    assert contract.spec.name == "advantage"
    assert contract.spec.qualname == f"{__name__}.advantage"
    assert contract.spec.description == "Rewards against a baseline."


def test_called_with_reads_it_returns_writes() -> None:
    mask = torch.ones(4, 3, dtype=torch.int64)
    reads = Advantage.Reads(rewards=rewards(), response_mask=mask, uid=column(["a", "a", "b", "b"]))

    result = staged(reads, scale=3.0)

    assert type(result) is Advantage.Writes
    assert torch.equal(result.advantages, 3.0 * rewards())


def test_an_argument_comes_from_the_call_the_configuration_or_its_default() -> None:
    def scaled(**kwargs: Any) -> float:
        return float(tensors_of(staged(scored(), **kwargs))["advantages"][0, 0])

    assert scaled() == 0.5
    with use_config({"algorithm": {"scale": 4.0}}):
        assert scaled() == 2.0
        assert scaled(scale=1.0) == 0.5


def test_what_no_field_fills_passes_through() -> None:
    assert float(tensors_of(staged(scored(), epsilon=10.0))["advantages"][0, 0]) == 10.5


def test_an_optional_field_that_is_there_is_given() -> None:
    batch = scored()
    batch.batch["weights"] = torch.full((4, 3), 3.0)

    assert torch.equal(tensors_of(staged(batch))["advantages"], 1.5 * rewards())


def test_an_optional_field_that_is_absent_leaves_the_parameter_its_own_default() -> None:
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        weights: Float32[Tensor, "batch response"] | None = None
        more: Float32[Tensor, "batch response"] | None = None

    def double(rewards: Tensor, more: Tensor | None, weights: Any = 2.0) -> Tensor:
        assert more is None
        return rewards * weights

    schema = type("Weighted", (Doubled,), {"Reads": Reads})

    assert torch.equal(tensors_of(stage(schema, unpack=True)(double)(scored()))["doubled"], 2 * rewards())


def test_a_field_whose_condition_does_not_hold_is_not_given() -> None:
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        values: Annotated[Float32[Tensor, "batch response"], When(config("use_critic"))]

    schema = type("Conditional", (Doubled,), {"Reads": Reads})
    double = stage(schema, unpack=True)(lambda rewards, values: 2 * rewards if values is None else values)

    with use_config({"use_critic": False}):
        assert torch.equal(tensors_of(double(scored()))["doubled"], 2 * rewards())
    with use_config({"use_critic": True}):
        assert torch.equal(tensors_of(double(scored()))["doubled"], -rewards())


def test_parameters_that_are_only_positional_are_filled_too() -> None:
    def double(rewards: Tensor, factor: float = 2.0, /, *, gamma: float = 0.0) -> Tensor:
        return rewards * factor + gamma

    assert torch.equal(
        tensors_of(stage(Doubled, unpack=True)(double)(scored(), gamma=1.0))["doubled"], 2 * rewards() + 1
    )


def test_keywords_of_any_name_take_the_fields_that_no_parameter_takes() -> None:
    def double(rewards: Tensor, **more: Any) -> tuple[Tensor, Tensor]:
        assert sorted(more) == ["gamma", "response_mask", "scale", "uid"]
        return rewards, rewards

    assert stores_of(stage(Advantage, unpack=True)(double)(scored())).names() == ["advantages", "returns"]


def test_methods_are_stages() -> None:
    class Critic:
        factor = 2.0

        @stage(Doubled, unpack=True)
        def double(self, rewards: Tensor) -> Tensor:
            return self.factor * rewards

    assert torch.equal(tensors_of(Critic().double(scored()))["doubled"], 2 * rewards())
    assert torch.equal(Critic().double(rewards()), 2 * rewards())
    assert torch.equal(Critic().double(rewards=rewards()), 2 * rewards())


def test_coroutine_functions_are_awaited() -> None:
    @stage(Doubled, unpack=True)
    async def double(rewards: Tensor) -> Tensor:
        return 2 * rewards

    assert torch.equal(tensors_of(asyncio.run(double(scored())))["doubled"], 2 * rewards())
    assert torch.equal(asyncio.run(double(rewards())), 2 * rewards())


# --- results --------------------------------------------------------------------------------------------------------


def test_a_result_may_be_a_dict_by_name() -> None:
    result = stage(Advantage, unpack=True)(lambda rewards: {"returns": rewards, "advantages": 2 * rewards})(scored())

    assert torch.equal(tensors_of(result)["advantages"], 2 * rewards())


def test_none_is_no_result() -> None:
    assert stage(Doubled, unpack=True)(lambda rewards: None)(scored()) is None


def test_a_result_with_other_rows_says_where_they_come_from() -> None:
    class Sorted(Doubled):
        rows = "permute"

    def backwards(rewards: Tensor) -> Tensor:
        return from_rows(rewards.flip(0), [3, 2, 1, 0])

    result = stage(Sorted, unpack=True)(backwards)(scored())

    assert torch.equal(result.batch["doubled"], rewards().flip(0))
    assert result.non_tensor_batch["uid"].tolist() == ["b", "b", "a", "a"]


def test_another_number_of_values_than_the_writes_have_is_refused() -> None:
    assert refusal(lambda: stage(Advantage, unpack=True, name="compute")(lambda rewards: rewards)(scored())) == (
        "1 problem where stage 'compute' returns its result\n\n"
        "  BP035 result  result  returned f32[4, 3]; 2 fields of Advantage.Writes in their order: "
        "advantages and returns"
    )
    assert "BP035 result  result  returned a tuple of 2; 1 field of Doubled.Writes in their order: doubled" in refusal(
        lambda: stage(Doubled, unpack=True)(lambda rewards: (rewards, rewards))(scored())
    )


def test_a_value_of_the_wrong_shape_is_named_by_its_field() -> None:
    assert "BP011 rank  doubled  f32[4], declared" in refusal(
        lambda: stage(Doubled, unpack=True)(lambda rewards: rewards[:, 0])(scored())
    )


def test_a_changed_input_is_found() -> None:
    assert "BP031 changed  rewards  changed in place" in refusal(
        lambda: stage(Doubled, unpack=True)(lambda rewards: 2 * rewards.mul_(2))(scored())
    )


# --- stores ---------------------------------------------------------------------------------------------------------


class Summed(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        values: Float32[Tensor, "batch response"]
        uid: NonTensor[str]

    class Writes(BatchSchema):
        total: Float32[Tensor, "batch response"]


def total(rewards: Tensor, batch: Any = None, non_tensor_batch: Any = None) -> Tensor:
    """As verl's GDPO: some of what it reads comes as whole stores."""
    assert set(non_tensor_batch) >= {"uid"}
    return rewards + batch["values"]


def test_a_parameter_with_the_name_of_a_store_takes_the_declared_fields_of_it() -> None:
    assert torch.equal(tensors_of(stage(Summed, unpack=True)(total)(scored()))["total"], torch.zeros(4, 3))


class Weighed(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        parts: Columns[NonTensor[float]] = named_by(config("parts"))

    class Writes(BatchSchema):
        total: Float32[Tensor, "batch response"]


def weighed(rewards: Tensor, non_tensor_batch: Any) -> Tensor:
    return rewards + float(sum(sum(non_tensor_batch[name]) for name in ("a", "b")))


@pytest.mark.parametrize("parts", [["a", "b"], None])
def test_such_a_store_has_the_open_columns_by_their_names(parts: list[str] | None) -> None:
    """As verl's GDPO is called: the columns that the configuration names come in a store."""
    rewards, columns = torch.zeros(2, 1), {name: column([1.0, 2.0]) for name in "abc"}
    made = stage(Weighed, unpack=True)(weighed)

    with use_config({"parts": parts}):
        if parts is None:
            assert refusal(lambda: made(rewards, columns)).splitlines()[2] == (
                "  BP056 columns  parts  configuration parts is not there; it names these columns; set parts; "
                'named_by(config("parts", default=[])) is for names that may be missing'
            )
        else:
            assert made(rewards, columns).tolist() == [[6.0], [6.0]]


def test_such_a_store_refuses_what_is_not_declared() -> None:
    look = stage(Summed, unpack=True)(lambda batch: batch["response_mask"])

    assert refusal(lambda: look(scored()), UndeclaredReadError).splitlines()[2] == (
        "  BP002 withheld  response_mask  the caller's batch holds tensor i64[4, 3]; the Reads of '<lambda>' do not "
        "declare it; add response_mask to them"
    )


# --- calls and declarations that do not fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "expected", "kind"),
    [
        (
            lambda: staged(scored(), rewards=rewards()),
            "BP036 call  rewards  given by the call, too; 'rewards' of the Reads fills it",
            ContractError,
        ),
        (
            lambda: staged(scored(), 2.0),
            "BP036 call  batch  called with float 2.0 behind it; after the batch, arguments go by keyword",
            ContractError,
        ),
        (lambda: staged(ours({"rewards": rewards()}, {}, {})), "BP001 missing  response_mask", MissingFieldError),
    ],
)
def test_a_call_that_does_not_fit_is_refused(
    call: Callable[[], object], expected: str, kind: type[ContractError]
) -> None:
    assert expected in refusal(call, kind)


def test_an_argument_under_another_name_goes_by_the_name_of_its_field() -> None:
    named = stage(Advantage, unpack=True, names={"factor": "scale"})(
        lambda rewards, factor: (rewards, factor * rewards)
    )

    assert torch.equal(tensors_of(named(scored(), scale=2.0))["returns"], 2 * rewards())
    assert "BP036 call  factor  given by the call, too; 'scale' of the Reads fills it; pass scale" in refusal(
        lambda: named(scored(), factor=2.0)
    )


def declaration(make: Callable[[], object]) -> str:
    with pytest.raises(DeclarationError) as caught:
        make()
    return str(caught.value)


def test_every_mistake_in_a_declaration_is_told_at_once() -> None:
    def compute(reward: Tensor, bias: Tensor, *more: Any) -> tuple[Tensor, Tensor, Tensor]: ...  # type: ignore[empty-body]

    assert declaration(lambda: stage(Advantage, unpack=True, names={"indx": "uid", "bias": "gama"})(compute)) == (
        "6 problems in the stage test_every_mistake_in_a_declaration_is_told_at_once.compute\n\n"
        "  BP051 declared  indx    names: the function has no such parameter\n"
        "  BP051 declared  bias    names: Advantage.Reads declares no field 'gama'; closest: 'gamma'\n"
        "  BP051 declared  reward  no field of Advantage.Reads fills this parameter; names={'reward': 'rewards'}?\n"
        "  BP051 declared  bias    no field of Advantage.Reads fills this parameter; declare it there (Arg[...] for "
        "what a call brings along), or say names={'bias': 'a field'}\n"
        "  BP051 declared  *more   parameters are filled by name, and these have none\n"
        "  BP051 declared  return  it returns a tuple of 3; 2 fields of Advantage.Writes in their order: "
        "advantages and returns"
    )


def test_unpack_needs_a_schema_and_names_need_unpack() -> None:
    untyped: Any = stage

    assert "@stage(Schema, unpack=True)" in declaration(lambda: untyped(unpack=True))
    assert "names are for unpack=True" in declaration(lambda: untyped(Advantage, names={"index": "uid"}))


def test_something_else_than_a_function_is_refused() -> None:
    assert "a stage is a function" in declaration(lambda: stage(Doubled, unpack=True)(torch.nn.Linear(1, 1)))


def test_results_are_the_same_at_level_off() -> None:
    with checking("off"):
        result = staged(scored(), scale=2.0)

    assert isinstance(result, DataProto)
    assert torch.equal(result.batch["advantages"], rewards())
