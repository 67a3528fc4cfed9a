"""`check_stage`: it finds each planted bug, says how to see it again, and passes what is sound."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn

from batchpact.contracts import checking, stage
from batchpact.contracts.testing import Manner, SampleError, Sampler, check_stage
from batchpact.dataproto import DataProto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    Columns,
    ContractError,
    DeclarationError,
    Jagged,
    Meta,
    Pad,
    Repeat,
    StageSchema,
    When,
    config,
    meta,
    named_by,
)
from tests.contracts.testing.planted import BUGS, Shape, made, sound


def said() -> dict[str, list[str]]:
    """What is said of each planted bug, as planted.txt has it."""
    parts = (Path(__file__).parent / "planted.txt").read_text(encoding="utf-8").split("## ")[1:]
    return {name: lines for name, *lines in (part.strip().split("\n") for part in parts)}


def findings(error: pytest.ExceptionInfo[ContractError]) -> list[str]:
    """The lines of a message; what others say in an exception, and where, differs from version to version."""
    text = re.sub(r"(it raises \w+): .*?; expected a result; at \S+;", r"\1;", str(error.value))
    return [line.strip() for line in text.splitlines() if line.startswith("  BP")]


# --- planted bugs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    bug = BUGS[name]

    with pytest.raises(ContractError) as error:
        check_stage(made(bug.contract, bug.broken))

    assert findings(error) == said()[name]


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.parametrize("seed", [0, 100])
def test_its_sound_twin_passes(name: str, seed: int) -> None:
    check_stage(made(BUGS[name].contract, BUGS[name].sound), seed=seed)


def test_at_least_15_bugs_are_planted() -> None:
    assert len(BUGS) >= 15
    assert list(said()) == list(BUGS)


# --- the message ------------------------------------------------------------------------------------------------------


def test_a_finding_can_be_seen_again_by_what_the_message_says() -> None:
    broken = made(Shape, BUGS["an optional field"].broken)

    with pytest.raises(ContractError) as error:
        check_stage(broken, seed=7)

    text = str(error.value)
    assert text.startswith("1 problem where stage 'shape' runs on samples\n\n")
    assert text.endswith(
        "; at tests/contracts/testing/planted.py:" + re.findall(r"planted\.py:(\d+)", text)[0] + "; without bonus: "
        "draw(5, seed=7, manner=Manner(without={'bonus'}))\n\n"
        "  again: check_stage(shape, samples=1, seed=7); the batches: Sampler(Shape.Reads)"
    )
    assert isinstance(error.value.__cause__, KeyError)
    with pytest.raises(KeyError):
        broken(Sampler(Shape.Reads).draw(5, seed=7, manner=Manner(without={"bonus"})).batch)
    with pytest.raises(ContractError) as again:
        check_stage(broken, samples=1, seed=7)
    assert str(again.value) == text


def test_a_finding_names_its_stage() -> None:
    with pytest.raises(ContractError) as error:
        check_stage(made(Shape, BUGS["cumsum"].broken))

    (violation,) = error.value.violations
    assert (violation.code, violation.field, violation.where.stage) == ("BP058", "shaped", "shape")


def test_what_was_asked_for_is_in_the_message() -> None:
    given = {"bonus": torch.ones(3)}

    with pytest.raises(ContractError) as error:
        check_stage(made(Shape, BUGS["sort"].broken), dims={"response": 2}, overrides=given)

    assert str(error.value).endswith("the batches: Sampler(Shape.Reads, dims=dims, overrides=overrides)")
    assert "draw(seed=" in str(error.value)


# --- stages of every kind ---------------------------------------------------------------------------------------------


class Scale(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch width"]
        factor: Arg[float] = 2.0

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch width"]


def test_typed_unpacked_async_and_partial_stages_are_run() -> None:
    @stage
    def typed(batch: Scale.Reads) -> Scale.Writes:
        return Scale.Writes(y=batch.x * batch.factor)

    @stage
    async def later(batch: Scale.Reads) -> Scale.Writes:
        return Scale.Writes(y=batch.x * batch.factor)

    @stage(Scale, unpack=True)
    def values(x: Tensor, factor: float) -> Tensor:
        return x * factor

    for each in (typed, later, values):
        check_stage(each)


async def test_it_runs_inside_an_event_loop() -> None:
    @stage
    async def later(batch: Scale.Reads) -> Scale.Writes:
        return Scale.Writes(y=batch.x.cumsum(dim=0))

    with pytest.raises(ContractError, match="expected the same in each row as without"):
        check_stage(later)


class Trainer:
    def __init__(self) -> None:
        self.weight = nn.Parameter(torch.ones(1))

    @stage
    @torch.no_grad()
    def step(self, batch: Scale.Reads) -> Scale.Writes:
        self.weight += 1
        return Scale.Writes(y=batch.x * self.weight)


def test_a_method_starts_from_the_same_object_in_every_run_and_leaves_it_alone() -> None:
    trainer = Trainer()

    check_stage(trainer.step)

    assert trainer.weight.item() == 1


def test_a_method_without_its_object_and_what_is_no_stage_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"a method needs its object: check_stage\(worker.method\)"):
        check_stage(Trainer.step)
    with pytest.raises(DeclarationError, match="no stage: put @stage above it"):
        check_stage(sound)


def test_a_stage_that_makes_rows_is_run() -> None:
    class Twice(StageSchema):
        rows = Repeat(2)

        class Reads(BatchSchema):
            x: Float32[Tensor, "batch"]

        class Writes(BatchSchema):
            y: Float32[Tensor, "batch"]

    @stage(Twice)
    def twice(data: DataProto) -> DataProto:
        again = data.repeat(2, interleave=True)
        again.batch["y"] = again.batch["x"] + torch.randn(len(again))
        return again

    check_stage(twice)


def test_a_stage_that_writes_figures_may_measure_time() -> None:
    class Figures(StageSchema):
        class Reads(BatchSchema):
            x: Float32[Tensor, "batch"]

        class Writes(BatchSchema):
            total: Meta[float]
            seconds: Meta[float]

    ticks = iter(range(10_000))

    @stage(Figures)
    def figures(data: DataProto) -> DataProto:
        return DataProto.from_dict({}, {}, {"total": data.batch["x"].sum().item(), "seconds": float(next(ticks))})

    check_stage(figures)


def test_jagged_fields_and_other_dtypes_are_tried() -> None:
    class Ragged(StageSchema):
        class Reads(BatchSchema):
            ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]
            x: Float[Tensor, "batch"]

        class Writes(BatchSchema):
            lengths: Int64[Tensor, "batch"]
            twice: Annotated[Int64[Tensor, "batch length"], Jagged("length")]

    seen = set()

    @stage(Ragged)
    def lengths(data: DataProto) -> DataProto:
        seen.add(data.batch["x"].dtype)
        ids = data.batch["ids"]
        return DataProto.from_dict({"lengths": ids.offsets().diff(), "twice": ids * 2})

    check_stage(lengths)

    assert seen == {torch.float32, torch.bfloat16}


def test_an_alias_is_run_under_its_own_names() -> None:
    @stage
    def typed(batch: Scale.Reads) -> Scale.Writes:
        return Scale.Writes(y=batch.x.cumsum(dim=0) * batch.factor)

    other = typed.as_("other", rename={"x": "scores", "y": "scaled"}, args={"factor": 3.0})

    with pytest.raises(ContractError, match=r"BP058 conduct  scaled  .*; with rows in the order"):
        check_stage(other)


def test_open_columns_are_read_and_rewritten() -> None:
    class Parts(StageSchema):
        class Reads(BatchSchema):
            parts: Columns[Float32[Tensor, "batch"]] = named_by(meta("names"))
            names: Meta[list[str]]

        class Writes(BatchSchema):
            parts: Columns[Float32[Tensor, "batch"]] = named_by(meta("names"))

    @stage(Parts)
    def doubled(data: DataProto) -> DataProto:
        for name in data.meta_info["names"]:
            data.batch[name] = data.batch[name] * 2
        return data

    @stage(Parts)
    def summed(data: DataProto) -> DataProto:
        for name in data.meta_info["names"]:
            data.batch[name] = data.batch[name].cumsum(dim=0)
        return data

    check_stage(doubled)
    with pytest.raises(ContractError, match=r"BP058 conduct  names_a  .*; with rows in the order"):
        check_stage(summed)


# --- what it is asked for ---------------------------------------------------------------------------------------------


def test_the_numbers_of_rows_are_given() -> None:
    seen = set()

    def count(data: DataProto) -> DataProto:
        seen.add(len(data))
        return sound(data)

    check_stage(made(Shape, count), rows=(6, 2))

    assert seen == {2, 6, 8}  # 8: with two pad rows


def test_pad_rows_come_in_beside_an_argument_that_a_call_has_to_bring() -> None:
    class Centre(StageSchema):
        pad_safe = True

        class Reads(BatchSchema):
            x: Annotated[Float32[Tensor, "batch"], Pad(0.0)]
            share: Arg[float]

        class Writes(BatchSchema):
            y: Float32[Tensor, "batch"]

    @stage
    def over_all_rows(batch: Centre.Reads) -> Centre.Writes:
        return Centre.Writes(y=batch.x - batch.x.mean())

    @stage
    def over_none(batch: Centre.Reads) -> Centre.Writes:
        return Centre.Writes(y=batch.x * batch.share)

    check_stage(over_none)
    with pytest.raises(ContractError, match=r"BP058 conduct  y  .*; with 2 pad rows behind"):
        check_stage(over_all_rows)


def test_the_configuration_counts() -> None:
    class Critic(StageSchema):
        class Reads(BatchSchema):
            x: Float32[Tensor, "batch"]
            values: Annotated[Float32[Tensor, "batch"], When(config("critic"))]

        class Writes(BatchSchema):
            y: Float32[Tensor, "batch"]

    @stage(Critic)
    def needs_values(data: DataProto) -> DataProto:
        return DataProto.from_dict({"y": data.batch["x"] - data.batch["values"]})

    check_stage(needs_values, config={"critic": True})
    with pytest.raises(ContractError, match="KeyError"):
        check_stage(needs_values, config={"critic": False})


def test_the_random_numbers_of_the_caller_go_on_as_they_were() -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    wanted = torch.rand(1).item(), np.random.rand(), random.random()
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)

    check_stage(made(Shape, BUGS["state"].sound))

    assert (torch.rand(1).item(), np.random.rand(), random.random()) == wanted


def test_a_schema_that_no_batch_keeps_to_is_named() -> None:
    class Unknown:
        pass

    class Odd(StageSchema):
        class Reads(BatchSchema):
            odd: Meta[Unknown]

    @stage(Odd)
    def odd(data: DataProto) -> Any:
        return None

    with pytest.raises(SampleError, match="odd"):
        check_stage(odd)


def test_the_settings_around_it_do_not_count() -> None:
    with checking("off", action="warn"), pytest.raises(ContractError, match="BP005"):
        check_stage(made(Shape, BUGS["another dtype"].broken))
