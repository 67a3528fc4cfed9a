"""Pipelines that are refused: when they are made, before anything runs, or where a result cannot be joined."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Pipeline, stage
from batchpact.schemas import (
    BatchError,
    BatchSchema,
    ContractError,
    DeclarationError,
    MissingFieldError,
    StageSchema,
)
from tests.contracts.small_pipeline import (
    STAGES,
    ComputeAdvantage,
    Start,
    compute_advantage,
    compute_returns,
    pipeline,
)
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    refusal,
    rewards,
    scored,
)


def test_a_pipeline_with_errors_is_not_started() -> None:
    told: list[str] = []
    wrong = pipeline(compute_advantage, compute_returns)

    assert refusal(lambda: wrong.run(scored(), progress=lambda *step: told.append(step[0])), MissingFieldError) == (
        "1 problem in pipeline 'small', which was not started\n\n"
        '  BP001 missing  compute_advantage: returns  declared f32 "batch response"; '
        "nothing before writes it; 'compute_returns' writes it, and comes later"
    )
    assert told == []


def test_declarations_without_code_can_be_checked_and_not_run() -> None:
    plan = pipeline(compute_returns, ComputeAdvantage)

    assert plan.check().ok
    assert refusal(lambda: plan.run(scored())) == (
        "1 problem in pipeline 'small'\n\n"
        "  BP036 call  ComputeAdvantage  a declaration without code; only @stage functions run"
    )


def test_coroutine_functions_can_be_checked_and_not_run() -> None:
    @stage
    async def ask(batch: ComputeReturns.Reads) -> ComputeReturns.Writes:
        return ComputeReturns.Writes(returns=RETURNS)

    plan = pipeline(ask)

    assert plan.check().ok
    with pytest.raises(ContractError, match="a coroutine function; run awaits nothing; await it in a loop of your own"):
        plan.run(scored())


def test_what_is_no_stage_is_refused_when_the_pipeline_is_made() -> None:
    assert refusal(lambda: pipeline(compute_returns, print), DeclarationError) == (
        "1 problem in the pipeline 'small'\n\n  BP051 declared  stage 2  print has no contract; decorate it with @stage"
    )


def test_what_is_no_batch_is_refused() -> None:
    assert refusal(lambda: pipeline().run({"rewards": rewards()})) == (
        "1 problem where pipeline 'small' starts\n\n"
        "  BP036 call  batch  called with dict of 1; a pipeline runs on a DataProto, a TensorDict or verl's DataProto"
    )


@in_every_container
def test_a_write_over_a_value_that_the_stage_does_not_rewrite_is_refused(container: Container) -> None:
    class Overwrite(StageSchema):
        class Writes(BatchSchema):
            values: Float32[Tensor, "batch response"]

    @stage(Overwrite)
    def overwrite(data: Any) -> Overwrite.Writes:
        return Overwrite.Writes(values=torch.ones(4, 3))

    assert refusal(lambda: pipeline(overwrite).run(scored(container)), BatchError) == (
        "1 problem in pipeline 'small', where the result of stage 'overwrite' is joined\n\n"
        "  BP041 conflict  values  the sides differ: 12 elements differ by up to 13, first in row 0; "
        "equal values, or on_conflict='left' or 'right'; "
        "if 'overwrite' rewrites the field, declare it in its Reads, too"
    )


def test_a_pipeline_shows_its_stages() -> None:
    assert repr(pipeline(*STAGES[:2])) == "Pipeline('small', compute_returns -> compute_advantage)"


def test_one_output_may_be_given_as_a_string() -> None:
    assert Pipeline("one", inputs=Start, stages=STAGES, outputs="metrics").spec.outputs == ("metrics",)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"inputs": ComputeReturns}, "inputs  ComputeReturns is no BatchSchema; a class that lists the fields"),
        ({"stages": ComputeReturns}, "stages  ComputeReturns is no list; write stages=[...]"),
        ({"stages": [Start]}, "stage 1  Start has no contract; a stage function or a StageSchema class belongs there"),
    ],
)
def test_a_pipeline_is_made_of_a_batch_schema_and_a_list_of_stages(parts: dict[str, Any], text: str) -> None:
    made = lambda: Pipeline("small", **{"inputs": Start, "stages": [ComputeReturns], **parts})  # noqa: E731
    assert refusal(made, DeclarationError) == f"1 problem in the pipeline 'small'\n\n  BP051 declared  {text}"
