"""Values that a call brings along: by keyword, by position, from the configuration, or by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from pydantic import Field
from tensordict import NonTensorData
from torch import Tensor

from batchpact.contracts import checking, stage, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas import Arg, BatchSchema, ContractError, From, Meta, MissingFieldError, StageSchema
from tests.contracts.stages import Container, in_every_container, ours, refusal, rewards, store_of, stores_of

CONFIG = {"algorithm": {"coef": 0.3}, "rollout": {"temperature": 0.7}}


class Weigh(StageSchema):
    """A stage with every kind of value that is no field of the batch."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        coef: Annotated[Arg[float], From("algorithm.coef"), Field(ge=0)]
        top: Arg[int] = 5
        note: Arg[str | None] = None
        temperature: Annotated[Meta[float], From("rollout.temperature")]
        mode: Meta[str] = "train"

    class Writes(BatchSchema):
        total: Float32[Tensor, "batch"]


def batch_of(container: Container = ours, **meta: object) -> Any:
    return container({"rewards": rewards()}, {}, {"step": 1, **meta})


def seen_by(
    make: Callable[[dict[str, Any]], Callable[..., Any]],
    *args: object,
    config: object = CONFIG,
    batch: Any = None,
    **kwargs: object,
) -> dict[str, Any]:
    """What a function, made with a dict to write into, is given when the stage is called."""
    seen: dict[str, Any] = {}
    with use_config(config):
        stage(Weigh, name="weigh")(make(seen))(batch_of() if batch is None else batch, *args, **kwargs)
    return seen


def takes_coef(seen: dict[str, Any]) -> Callable[..., None]:
    def function(data: DataProto, coef: float) -> None:
        seen.update(coef=coef)

    return function


def takes_keywords(seen: dict[str, Any]) -> Callable[..., None]:
    def function(data: DataProto, *, coef: float, top: int = 99) -> None:
        seen.update(coef=coef, top=top)

    return function


def takes_nothing(seen: dict[str, Any]) -> Callable[..., None]:
    def function(data: DataProto) -> None:
        seen.update(data.meta_info)

    return function


# --- where a value comes from ----------------------------------------------------------------------------------------


def test_a_keyword_reaches_a_function_that_takes_it() -> None:
    assert seen_by(takes_coef, coef=0.5) == {"coef": 0.5}
    assert seen_by(takes_keywords, coef=0.5, top=2) == {"coef": 0.5, "top": 2}


def test_a_positional_argument_reaches_the_function() -> None:
    assert seen_by(takes_coef, 0.6) == {"coef": 0.6}


def test_what_the_call_leaves_open_comes_from_the_configuration_or_the_contracts_default() -> None:
    assert seen_by(takes_coef) == {"coef": 0.3}
    assert seen_by(takes_keywords) == {"coef": 0.3, "top": 5}


def test_an_argument_that_the_function_does_not_take_stands_in_the_handed_out_meta() -> None:
    assert seen_by(takes_nothing, coef=0.9) == {
        "coef": 0.9,
        "top": 5,
        "note": None,
        "temperature": 0.7,
        "mode": "train",
    }


def test_a_method_counts_its_positions_with_self() -> None:
    class Worker:
        @stage(Weigh)
        def weigh(self, data: DataProto, coef: float) -> None:
            self.coef = coef

    worker = Worker()
    with use_config(CONFIG):
        worker.weigh(batch_of(), 0.8)

    assert worker.coef == 0.8


def test_typed_reads_hold_every_argument() -> None:
    seen: dict[str, Any] = {}

    @stage
    def weigh(batch: Weigh.Reads) -> None:
        seen.update(coef=batch.coef, top=batch.top, note=batch.note, temperature=batch.temperature, mode=batch.mode)

    with use_config(CONFIG):
        weigh(batch_of(temperature=0.7), top=1, note="x")

    assert seen == {"coef": 0.3, "top": 1, "note": "x", "temperature": 0.7, "mode": "train"}


# --- what never happens ----------------------------------------------------------------------------------------------


@in_every_container
def test_an_argument_never_enters_the_callers_batch(container: Container) -> None:
    """verl's no_lora_adapter, meant for one call, reached the critic."""

    @stage(Weigh)
    def weigh(data: Any) -> Any:
        meta = store_of(data, "meta")
        assert (meta["coef"], meta["top"], meta["temperature"]) == (0.4, 5, 0.7)
        store_of(data, "tensor")["total"] = store_of(data, "tensor")["rewards"].sum(1)
        return data

    batch = batch_of(container)
    with use_config(CONFIG):
        result = weigh(batch, coef=0.4)

    assert result is batch
    assert sorted(stores_of(batch).names()) == ["rewards", "step", "total"]


@in_every_container
def test_an_argument_cannot_be_changed_into_a_field(container: Container) -> None:
    @stage(Weigh)
    def weigh(data: Any) -> Any:
        meta = store_of(data, "meta")
        meta["top"] = NonTensorData(6, batch_size=[4]) if meta is data else 6
        store_of(data, "tensor")["total"] = torch.ones(4)
        return data

    with use_config(CONFIG), pytest.raises(ContractError) as caught:
        weigh(batch_of(container))

    assert [(found.code, found.field, found.actual) for found in caught.value.violations] == [
        ("BP031", "top", "returned with another value")
    ]


def test_a_keyword_that_nobody_declares_is_pythons_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'koef'"):
        seen_by(takes_coef, koef=1.0)


# --- what is refused -------------------------------------------------------------------------------------------------


def test_a_missing_argument_is_refused_with_the_missing_meta_field() -> None:
    assert refusal(lambda: seen_by(takes_coef, config=None), MissingFieldError) == (
        "2 problems where stage 'weigh' reads its batch\n\n"
        "  BP001 missing  coef         declared argument float; "
        "pass coef=... with the call, or set algorithm.coef in the configuration\n"
        "  BP001 missing  temperature  declared meta float; "
        "set rollout.temperature in the configuration, or write it before; no name in the batch is close"
    )


@pytest.mark.parametrize(
    ("kwargs", "config"),
    [({"coef": "0.5"}, CONFIG), ({}, {"algorithm": {"coef": "0.5"}, "rollout": {"temperature": 0.7}})],
    ids=["by keyword", "from the configuration"],
)
def test_an_argument_of_another_type_is_refused(kwargs: Any, config: Any) -> None:
    assert refusal(lambda: seen_by(takes_coef, config=config, **kwargs)) == (
        "1 problem where stage 'weigh' reads its batch\n\n  BP006 type  coef  str, declared argument float"
    )


def test_none_for_an_argument_that_has_no_none_is_a_missing_argument() -> None:
    with pytest.raises(MissingFieldError, match="BP001 missing  coef  declared argument float"):
        seen_by(takes_coef, coef=None)


def test_a_bound_on_an_argument_is_checked_at_level_values() -> None:
    assert seen_by(takes_coef, coef=-1.0) == {"coef": -1.0}
    with checking("values"):
        assert refusal(lambda: seen_by(takes_coef, coef=-1.0)) == (
            "1 problem where stage 'weigh' reads its batch\n\n"
            "  BP021 values  coef  Input should be greater than or equal to 0; declared float >= 0"
        )


def test_an_argument_that_stands_in_the_batch_is_in_the_wrong_place() -> None:
    batch = batch_of(coef=0.5)

    assert refusal(lambda: seen_by(takes_coef, batch=batch, config={"rollout": {"temperature": 1.0}})) == (
        "1 problem where stage 'weigh' reads its batch\n\n"
        "  BP003 place  coef  float in meta_info; declared argument, passed with the call"
    )


# --- meta and the configuration --------------------------------------------------------------------------------------


def test_a_meta_field_that_the_batch_holds_is_read_from_it() -> None:
    assert seen_by(takes_nothing, batch=batch_of(temperature=0.7, mode="eval"))["mode"] == "eval"


@in_every_container
def test_a_batch_that_contradicts_the_configuration_is_refused(container: Container) -> None:
    batch = batch_of(container, temperature=1.0)

    assert refusal(lambda: seen_by(takes_coef, batch=batch)) == (
        "1 problem where stage 'weigh' reads its batch\n\n"
        "  BP053 config  temperature  the batch has float 1.0; the configuration has 0.7 at rollout.temperature"
    )


def test_an_equal_number_of_another_type_is_no_contradiction() -> None:
    config = {"algorithm": {"coef": 1}, "rollout": {"temperature": 1}}

    assert seen_by(takes_coef, batch=batch_of(temperature=1.0), config=config) == {"coef": 1}


def test_a_field_per_row_does_not_contradict_the_configuration() -> None:
    """Only its meta placement is filled from there."""

    class PerRow(StageSchema):
        class Reads(BatchSchema):
            temperature: Annotated[Meta[float] | Float32[Tensor, "batch"], From("rollout.temperature")]

    seen: list[object] = []

    @stage
    def weigh(batch: PerRow.Reads) -> None:
        seen.append(batch.temperature)

    per_row = torch.tensor([0.1, 0.2, 0.3, 0.4])
    with use_config(CONFIG):
        weigh(ours({"temperature": per_row}, {}, {}))
        weigh(ours({"rewards": rewards()}, {}, {}))

    assert seen[0] is per_row
    assert seen[1] == 0.7


def test_a_mutable_default_is_made_anew_for_every_call() -> None:
    class Tags(StageSchema):
        class Reads(BatchSchema):
            tags: Meta[list[str]] = []  # noqa: RUF012

    seen: list[list[str]] = []

    @stage(Tags)
    def tag(data: DataProto) -> None:
        data.meta_info["tags"].append("seen")
        seen.append(data.meta_info["tags"])

    tag(batch_of())
    tag(batch_of())

    assert seen == [["seen"], ["seen"]]
