"""The source of stages and of their pipeline."""

from __future__ import annotations

from batchpact.contracts.inferring.drafted import Drafted
from batchpact.contracts.tracing.stages import StageDraft
from batchpact.contracts.tracing.writing import pipeline_source
from tests.contracts.inferring.drafts import formatted, run

FIELD = Drafted("x", "x", kinds=["Meta[int]"], imports={("batchpact.schemas", "Meta")})


def stage(name: str, when: str = "") -> StageDraft:
    return StageDraft(name, "What it does.", [FIELD], [], when=when)


def test_a_name_that_is_taken_gets_another() -> None:
    source = pipeline_source("plan", [FIELD], [stage("Meta"), stage("Inputs"), stage("Meta")], ())

    assert [spec.name for spec in run(source).plan.spec.stages] == ["meta_stage", "inputs_stage", "meta_stage_stage"]
    assert formatted(source) == source


def test_conditions_of_every_length() -> None:
    long = 'config("a.very.long.path.of.a.configuration.that.has.it")'
    names = ["Score", "ScoreAnswersWithAnEvenLongerName", "ScoreAnswersWithTheLongestNameOfAllOfTheStages"]
    source = pipeline_source("plan", [FIELD], [stage(name, long) for name in names], ("x",) * 9)

    assert formatted(source) == source
    assert len(run(source).plan.spec.stages) == 3


def test_a_stage_without_fields() -> None:
    source = pipeline_source("plan", [], [StageDraft("Idle", "Nothing.", [], [])], ())

    assert run(source).plan.spec.stages[0].reads.fields == ()
    assert formatted(source) == source
