"""Stages in their order: a plain loop that joins what each of them wrote."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Figures, Pipeline, checking, from_rows, stage
from batchpact.contracts.origins import FromRows
from batchpact.dataproto import DataProto
from batchpact.schemas import (
    Arg,
    BatchSchema,
    From,
    Meta,
    MissingFieldError,
    NonTensor,
    Repeat,
    StageSchema,
)
from batchpact.schemas.equality import difference
from tests.contracts.small_pipeline import (
    STAGES,
    ComputeAdvantage,
    Normalise,
    Start,
    compute_advantage,
    compute_returns,
    normalise,
    pipeline,
)
from tests.contracts.stages import (
    CONTAINERS,
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    ours,
    returns_of,
    rewards,
    scored,
    stores_of,
)

# --- running ---------------------------------------------------------------------------------------------------------


@in_every_container
def test_run_joins_what_every_stage_wrote(container: Container) -> None:
    batch = scored(container)

    result = pipeline(outputs=("metrics",)).run(batch, {"algorithm": {"keep": 2, "scale": 2.0}})

    advantages = returns_of(rewards(), 0.5, 2.0) + rewards()
    advantages -= advantages.mean()
    stores = stores_of(result)
    assert type(result) is type(batch)
    assert sorted(stores.tensors) == ["advantages", "best", "response_mask", "returns", "rewards"], "values is dropped"
    assert torch.equal(stores.tensors["advantages"], advantages[[3, 2]])
    assert torch.equal(stores.tensors["best"], advantages.sum(1)[[3, 2]])
    assert {key: list(column) for key, column in stores.columns.items()} == {
        "uid": ["b", "b"],
        "data_source": ["code", "code"],
    }
    assert stores.meta == {"gamma": 0.5, "global_steps": 7, "metrics": {"best": advantages.sum(1).max().item()}}


@in_every_container
def test_the_callers_batch_is_left_as_it_is(container: Container) -> None:
    batch, before = scored(container), scored(container)

    pipeline().run(batch)

    assert difference(stores_of(batch), stores_of(before)) is None


def test_every_container_gives_the_same_result() -> None:
    results = [stores_of(pipeline().run(scored(container))) for container in CONTAINERS.values()]

    assert difference(results[0], results[1]) is None
    assert difference(results[0], results[2]) is None


def test_stages_in_verls_style_join_too() -> None:
    """Functions that return their input, a new batch, or a tuple."""

    @stage(ComputeReturns)
    def in_place(data: DataProto) -> DataProto:
        data.batch["returns"] = RETURNS
        return data

    @stage(ComputeAdvantage)
    def in_a_tuple(data: DataProto) -> tuple[DataProto, int]:
        return DataProto.from_dict({"advantages": data.batch["returns"] - data.batch["values"]}), 3

    batch = scored()
    result = pipeline(in_place, in_a_tuple, normalise).run(batch)

    assert difference(stores_of(result), stores_of(pipeline(*STAGES[:3]).run(batch))) is None
    assert [result.last_writer(key) for key in ("returns", "advantages")] == ["in_place", "normalise"]


def test_a_worker_s_bound_methods_are_stages() -> None:
    class Critic:
        def __init__(self, bias: float) -> None:
            self.bias = bias

        @stage(Normalise)
        def shift(self, data: DataProto) -> DataProto:
            return DataProto.from_dict({"advantages": data.batch["advantages"] + self.bias})

    result = pipeline(compute_returns, compute_advantage, Critic(1.0).shift, Critic(2.0).shift).run(scored())

    assert torch.equal(result.batch["advantages"], RETURNS + rewards() + 3)


@in_every_container
def test_a_rewrite_that_moves_a_field_takes_it_from_its_old_store(container: Container) -> None:
    class Share(StageSchema):
        class Reads(BatchSchema):
            uid: NonTensor[str]

        class Writes(BatchSchema):
            uid: Meta[str]

    @stage
    def share(batch: Share.Reads) -> Share.Writes:
        return Share.Writes(uid="/".join(batch.uid))

    stores = stores_of(pipeline(share).run(scored(container)))

    assert (stores.meta["uid"], list(stores.columns)) == ("a/a/b/b", ["data_source"])


@in_every_container
def test_a_stage_without_output_still_drops(container: Container) -> None:
    class DropValues(StageSchema):
        drops = ("values",)

        class Reads(BatchSchema):
            values: Float32[Tensor, "batch response"]

    @stage
    def use_up(batch: DropValues.Reads) -> None:
        return None

    assert "values" not in stores_of(pipeline(use_up).run(scored(container))).names()


def test_rows_are_repeated_for_the_fields_that_the_stage_did_not_see() -> None:
    class Sample(StageSchema):
        rows = Repeat("rollout.n")

        class Reads(BatchSchema):
            rewards: Float32[Tensor, "batch response"]
            n: Annotated[Arg[int], From("rollout.n")]

        class Writes(BatchSchema):
            draws: Float32[Tensor, "batch"]

    @stage
    def sample(batch: Sample.Reads) -> FromRows[Sample.Writes]:
        rows = torch.arange(len(batch.rewards)).repeat_interleave(batch.n)
        return from_rows(Sample.Writes(draws=rows.float()), rows)

    result = pipeline(sample).run(scored(), {"rollout": {"n": 2}})

    assert list(result.non_tensor_batch["uid"]) == ["a"] * 4 + ["b"] * 4
    assert result.batch["draws"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


# --- on the way ------------------------------------------------------------------------------------------------------


def test_progress_is_told_before_each_stage() -> None:
    told: list[tuple[str, int, int]] = []

    pipeline(*STAGES[:3]).run(scored(), progress=lambda *step: told.append(step))

    assert told == [("compute_returns", 1, 3), ("compute_advantage", 2, 3), ("normalise", 3, 3)]


@pytest.mark.parametrize("level", ["structure", "off"])
def test_figures_have_every_stage_in_its_order(level: Any) -> None:
    figures = Figures()

    with checking(level):
        pipeline().run(scored(), figures=figures)
        pipeline().run(scored(), figures=figures)

    assert [(name, stage.calls) for name, stage in figures] == [(stage.contract.name, 2) for stage in STAGES]
    assert figures.stages["compute_returns"].bytes_written == 2 * 4 * 3 * 4


def test_the_configuration_ends_with_the_run() -> None:
    pipeline().run(scored(), {"algorithm": {"scale": 5.0}})

    assert torch.equal(compute_returns(scored()).batch["returns"], RETURNS)


def test_a_boundary_that_does_not_hold_ends_the_run() -> None:
    told: list[str] = []
    batch = ours({"rewards": rewards(), "values": rewards()}, {"uid": ["a"] * 4}, {"gamma": 0.5})

    with pytest.raises(MissingFieldError, match="where stage 'compute_returns' reads its batch"):
        pipeline().run(batch, progress=lambda name, at, of: told.append(name))

    assert told == ["compute_returns"]


def test_a_partial_of_a_stage_is_one() -> None:
    twice = Pipeline("p", inputs=Start, stages=[partial(compute_returns, scale=2.0)], outputs=("returns",))

    done = twice.run(scored())

    assert [stage.name for stage in twice.spec.stages] == ["compute_returns"]
    assert torch.equal(done.batch["returns"], returns_of(rewards(), 0.5, 2.0))
