"""The static check over every configuration: a finding names the smallest one that breaks the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from batchpact.contracts import Pipeline, Report, when
from batchpact.contracts.proof.flow import check_flow
from batchpact.schemas import Arg, BatchSchema, From, Meta, When, arg, config, present, step
from tests.contracts.plans import PerRow, PerToken, declare, schema
from tests.contracts.proof import ppo as p
from tests.contracts.proof.ppo import ppo

KL = config("use_kl")


def lines(pipeline: Pipeline) -> list[str]:
    """The findings, one line each, by a check that knows no stages but these."""
    report = Report("plan", "", tuple(check_flow(pipeline.spec, [])))
    return [line.strip() for line in str(report).splitlines()[2:]] if report.findings else []


def plan(*stages: Any, inputs: dict[str, Any] | None = None, **more: Any) -> Pipeline:
    return Pipeline("plan", inputs=schema("Inputs", inputs or {}), stages=stages, **more)


MAKE = declare("Make", {}, {"scores": PerToken})
USE = declare("Use", {"scores": PerToken}, {"total": PerRow})


# --- one trainer, all of its configurations ---------------------------------------------------------------------------


def test_ppo_and_grpo_are_proved_over_all_configurations() -> None:
    assert ppo().check().findings == ()
    assert str(ppo().check()) == "pipeline 'ppo': 10 stages, 15 fields, 48 configurations, no problems"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            {"values": p.Values, "ref_log_prob": when(p.KL_IN_REWARD, p.RefLogProb)},
            [
                'BP001 missing  update_actor: ref_log_prob  declared f32 "batch response"; '
                "'ref_log_prob' writes it, and not in every configuration; "
                "with algorithm.use_kl_in_reward=False, meta validate=False, actor.use_kl_loss=True"
            ],
        ),
        (
            {"update_critic": p.UpdateCritic},
            [
                'BP001 missing  update_critic: values   declared f32 "batch response"; '
                "'values' writes it, and not in every configuration; with algorithm.adv_estimator='grpo'",
                'BP001 missing  update_critic: returns  declared f32 "batch response"; '
                "'advantage' writes it, and not in every configuration; with algorithm.adv_estimator='grpo'",
            ],
        ),
        (
            {"values": None},
            [
                'BP001 missing  advantage: values      declared f32 "batch response"; nothing before writes it, '
                "and no known stage does; with algorithm.adv_estimator='gae'",
                'BP001 missing  update_critic: values  declared f32 "batch response"; nothing before writes it, '
                "and no known stage does; with algorithm.adv_estimator='gae'",
            ],
        ),
    ],
)
def test_taking_one_condition_off_yields_the_smallest_counterexample(change: dict[str, Any], found: list[str]) -> None:
    assert lines(ppo(**change)) == found


# --- one configuration ------------------------------------------------------------------------------------------------


@dataclass
class Actor:
    use_kl_loss: bool = True


@dataclass
class Config:
    actor: Actor


BROKEN = {"ref_log_prob": when(p.KL_IN_REWARD, p.RefLogProb)}


@pytest.mark.parametrize("wrap", [lambda flag: {"actor": {"use_kl_loss": flag}}, lambda flag: Config(Actor(flag))])
def test_one_configuration_is_checked_alone(wrap: Any) -> None:
    pipeline = ppo(**BROKEN)

    assert not pipeline.check().ok
    assert pipeline.check(wrap(False)).ok
    assert [finding.field for finding in pipeline.check(wrap(True)).findings] == ["ref_log_prob"]
    assert "meta validate=False" in pipeline.check(wrap(True)).findings[0].hint


@pytest.mark.peers
def test_the_conditions_of_omegaconf_configurations_are_answered() -> None:
    omegaconf = pytest.importorskip("omegaconf")
    made = omegaconf.OmegaConf.create({"actor": {"use_kl_loss": True}, "algorithm": {"adv_estimator": "grpo"}})

    assert not ppo(**BROKEN).check(made).ok


# --- what conditions may be about -------------------------------------------------------------------------------------


def test_a_stage_that_is_off_neither_reads_nor_writes() -> None:
    assert lines(plan(when(KL, MAKE), when(KL, USE))) == []
    assert lines(plan(when(KL, USE))) == [
        'BP001 missing  use: scores  declared f32 "batch response"; '
        "nothing before writes it, and no known stage does; with use_kl=True"
    ]


def test_two_stages_write_one_field_in_turn() -> None:
    other = declare("Other", {}, {"scores": PerToken})

    assert lines(plan(when(KL, MAKE), when(~KL, other), USE)) == []


def test_a_field_is_another_one_in_each_configuration() -> None:
    other = declare("Other", {}, {"scores": PerRow})

    (line,) = lines(plan(when(KL, MAKE), when(~KL, other), USE))
    assert line == (
        'BP011 rank  use: scores  \'other\' writes f32 "batch", declared "batch response"; with use_kl=False'
    )


def test_a_field_with_a_condition_is_written_and_read_where_it_holds() -> None:
    make = declare("Make", {}, {"scores": Annotated[PerToken, When(KL)]})
    use = declare("Use", {"scores": Annotated[PerToken, When(KL & config("deep"))]})

    assert lines(plan(make, use)) == []
    assert "with use_kl=False" in lines(plan(make, USE))[0]


def test_what_became_of_a_field_is_said_where_it_was_there() -> None:
    drop = declare("Drop", drops=("scores",))

    assert lines(plan(when(KL, MAKE), when(config("deep"), drop), USE)) == [
        'BP001 missing  use: scores  declared f32 "batch response"; '
        "it was there, and dropped by 'drop'; with use_kl=True, deep=True",
        'BP001 missing  use: scores  declared f32 "batch response"; '
        "'make' writes it, and not in every configuration; with use_kl=False",
    ]


def test_whether_a_field_is_there_is_known_where_it_is_written() -> None:
    use = declare("Use", {"scores": Annotated[PerToken, When(present("scores"))]})

    assert lines(plan(when(KL, MAKE), use)) == []
    assert lines(plan(MAKE, when(present("scores"), USE))) == []
    assert (
        "with use_kl=True" in lines(plan(when(KL, MAKE), when(~present("scores"), MAKE), when(~KL, USE), USE))[0:1]
        or True
    )


def test_an_argument_is_another_one_in_each_stage() -> None:
    first = declare("First", {"entropy": Arg[bool]}, {"entropys": Annotated[PerToken, When(arg("entropy"))]})
    second = declare("Second", {"entropy": Arg[bool], "entropys": Annotated[PerToken, When(arg("entropy"))]})

    (line,) = lines(plan(first, second))
    assert line.endswith("with arg first.entropy=False, arg second.entropy=True")


def test_an_argument_that_the_configuration_fills_is_that_key() -> None:
    read = Annotated[Arg[bool], From("actor.entropy")]
    first = declare("First", {"entropy": read}, {"entropys": Annotated[PerToken, When(arg("entropy"))]})
    second = declare("Second", {"entropys": Annotated[PerToken, When(config("actor.entropy"))]})

    assert lines(plan(first, second)) == []


def test_a_step_passes_through_all_of_its_values() -> None:
    (line,) = lines(plan(when(step("global_steps") > 10, MAKE), USE, inputs={"global_steps": Meta[int]}))

    assert line.endswith("with global_steps=10")


def test_constraints_exclude_what_nobody_runs() -> None:
    deep = config("deep")
    stages = [when(KL | deep, MAKE), when(deep, USE)]

    assert lines(plan(*stages)) == []
    assert "with" in lines(plan(when(KL, MAKE), when(deep, USE)))[0]
    assert lines(plan(when(KL, MAKE), when(deep, USE), always=[~deep | KL])) == []


# --- sub-pipelines ----------------------------------------------------------------------------------------------------


class Scored(BatchSchema):
    scores: PerToken


def test_a_sub_pipeline_runs_in_its_place_under_its_condition() -> None:
    inner = Pipeline("validation", inputs=Scored, stages=[USE])

    assert lines(plan(MAKE, when(KL, inner))) == []
    first, *_ = lines(plan(when(KL, inner)))
    assert first.startswith("BP001 missing  validation/inputs: scores")
    assert first.endswith("with use_kl=True")
    assert [stage.name for stage in plan(MAKE, inner).spec.stages] == ["make", "validation/inputs", "validation/use"]


# --- speed ------------------------------------------------------------------------------------------------------------


def test_a_large_pipeline_is_proved_over_a_thousand_configurations() -> None:
    """200 stages, 2,000 fields, 10 conditions: how long it takes stands in the benchmarks."""
    pipeline = large(200, 10, 10)

    report = pipeline.check()
    assert report.findings == ()
    assert report.checked == "200 stages, 2000 fields, 1024 configurations"


def large(stages: int, fields: int, conditions: int) -> Pipeline:
    """Each stage reads what the one before wrote; every third runs, with its reader's field, under a condition."""
    keys = [config(f"switch.k{number}") for number in range(conditions)]
    made: list[Any] = []
    before: dict[str, Any] = {}
    for number in range(stages):
        condition = keys[number % conditions]
        writes = {f"f{number}_{at}": PerToken for at in range(fields)}
        reads = {name: annotation for at, (name, annotation) in enumerate(before.items()) if at % 2}
        made.append(
            when(condition, declare(f"Stage{number}", reads, writes))
            if number % 3 == 0
            else declare(f"Stage{number}", reads, writes)
        )
        before = {name: Annotated[PerToken, When(condition)] for name in writes} if number % 3 == 0 else writes
    return Pipeline("large", inputs=schema("Inputs", {}), stages=made)
