"""`Pipeline.observed`: the calls of a trainer's own loop, held against a declared pipeline."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Pipeline, stage, use_config, when
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, ContractError, StageSchema, config, meta
from tests.contracts.stages import ours

Scores = Float32[Tensor, "batch"]


class Inputs(BatchSchema):
    scores: Scores


class Touch(StageSchema):
    class Reads(BatchSchema):
        scores: Scores


class Log(StageSchema):
    """Statements of the driver."""

    class Reads(BatchSchema):
        scores: Scores


def touching(name: str) -> Any:
    @stage(Touch, name=name)
    def touch(data: DataProto) -> None:
        return None

    return touch


generate, score, critic, reward, update, other = map(
    touching, ("generate", "score", "critic", "reward", "update", "genrate")
)
validation = Pipeline("validation", inputs=Inputs, stages=[generate, score])
loop = Pipeline(
    "loop",
    inputs=Inputs,
    stages=[generate, score, when(config("use_critic"), critic), when(meta("always"), reward), update, Log],
)
BATCH = ours({"scores": torch.ones(2)}, {}, {})


def at_step(step: int) -> DataProto:
    return ours({"scores": torch.ones(2)}, {}, {"global_steps": step})


def report_of(pipeline: Pipeline, calls: list[Any], config: object = None, log: bool = True) -> str:
    with pipeline.observed(config) as order:
        for call in calls:
            call(BATCH)
        if log:
            with Log.on(BATCH):
                pass
    return str(order.report())


def test_a_loop_in_the_declared_order_has_no_problems() -> None:
    assert report_of(loop, [generate, score, update]) == "the calls of pipeline 'loop': 4 calls in 1 round, no problems"


def test_a_call_out_of_order_is_named_with_the_one_that_came_too_early() -> None:
    assert report_of(loop, [generate, update, score]) == (
        "1 problem in the calls of pipeline 'loop' (4 calls in 1 round)\n\n"
        "  BP064 order  score  called after 'update'; the pipeline has it before 'update'"
    )


def test_a_stage_that_never_runs_is_named() -> None:
    assert report_of(loop, [generate, update], {"use_critic": True}, log=False) == (
        "3 problems in the calls of pipeline 'loop' (2 calls in 1 round)\n\n"
        "  BP065 skipped  score   never called; it always runs\n"
        "  BP065 skipped  critic  never called; it runs where use_critic, and that holds\n"
        "  BP065 skipped  log     never called; it always runs"
    )


def test_the_configuration_in_use_counts() -> None:
    with use_config({"use_critic": True}):
        assert "BP065 skipped  critic" in report_of(loop, [generate, score, update])


def test_a_call_that_the_pipeline_does_not_have_is_named() -> None:
    assert report_of(loop, [generate, other, score, update]) == (
        "1 problem in the calls of pipeline 'loop' (5 calls in 1 round)\n\n"
        "  BP066 stray  genrate  called; the pipeline has no such stage; closest name: 'generate'"
    )


def test_a_call_that_is_switched_off_is_named() -> None:
    assert report_of(loop, [generate, score, critic, update], {"use_critic": False}) == (
        "1 problem in the calls of pipeline 'loop' (5 calls in 1 round)\n\n"
        "  BP066 stray  critic  called; it runs where use_critic, and that does not hold"
    )


@pytest.mark.parametrize("calls", [[generate, score, update], [generate, score, critic, reward, update]])
def test_what_the_configuration_does_not_decide_is_left_open(calls: list[Any]) -> None:
    assert report_of(loop, calls).endswith("no problems")


def test_a_stage_may_be_called_for_each_mini_batch() -> None:
    assert report_of(loop, [generate, score, score, update, update, update]).endswith("4 calls in 1 round, no problems")


short = Pipeline("short", inputs=Inputs, stages=[generate, score, update])


def test_a_round_ends_where_the_first_stage_is_called_again() -> None:
    assert report_of(short, [generate, score, update] * 3, log=False) == (
        "the calls of pipeline 'short': 9 calls in 3 rounds, no problems"
    )
    assert report_of(short, [generate, score, update, generate, update, generate, score, update], log=False) == (
        "1 problem in the calls of pipeline 'short' (8 calls in 3 rounds)\n\n"
        "  BP065 skipped  score  not called in 1 of 3 rounds, first in round 2; it always runs"
    )


def test_where_calls_have_a_step_it_ends_with_the_step() -> None:
    with short.observed() as order:
        for step in (1, 2):
            for call in (score, generate, update):
                call(at_step(step))

    assert order.calls == ["score", "generate", "update"] * 2
    found = [(finding.code, finding.field, finding.actual) for finding in order.report().findings]
    assert found == [("BP064", "generate", "called after 'score'")]


def test_a_stage_of_a_sub_pipeline_has_its_own_name_and_several_places() -> None:
    both = Pipeline("both", inputs=Inputs, stages=[generate, score, update, validation])

    expected = "the calls of pipeline 'both': 5 calls in 1 round, no problems"
    assert report_of(both, [generate, score, update, generate, score], log=False) == expected
    with both.observed() as order:
        for step in (1, 2):
            for call in (generate, score, update, generate, score):
                call(at_step(step))
    assert str(order.report()) == "the calls of pipeline 'both': 10 calls in 2 rounds, no problems"


def test_nothing_at_all_is_every_stage_skipped() -> None:
    assert report_of(short, [], log=False).splitlines()[0] == (
        "3 problems in the calls of pipeline 'short' (0 calls in 0 rounds)"
    )


def test_errors_are_raised_on_request() -> None:
    with short.observed() as order:
        generate(BATCH)

    with pytest.raises(ContractError) as caught:
        order.report().raise_errors()
    assert str(caught.value).splitlines()[0] == "2 problems in the calls of pipeline 'short'"


def test_a_run_is_in_order() -> None:
    with short.observed() as order:
        short.run(BATCH)

    assert order.report().ok
