"""The page of stages: what each does, what it reads and writes, which configuration changes that."""

from __future__ import annotations

from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.project import Project
from batchpact.contracts.reference.slugs import slug
from batchpact.schemas.record import PipelineSpec
from tests.contracts.reference.markdown.test_fields import section
from tests.contracts.reference.small import field, odd_project, ppo_project, schema, stage

FIRST, LOOSE = (f"stage-{slug(f'odd.<locals>.{name}')}" for name in ("First", "Loose"))


def test_a_stage_answers_the_three_questions() -> None:
    assert section(ppo_project(), "stage-tests.contracts.proof.ppo.RefLogProb", "stages.md") == [
        "## ref\\_log\\_prob",
        "`tests.contracts.proof.ppo.RefLogProb`",
        "- rows: same",
        "In <ppo> it is stage 5 of 10, <ref\\_log\\_prob>, where <use\\_reference> "
        "(<algorithm.use\\_kl\\_in\\_reward> or <actor.use\\_kl\\_loss>):",
        "| reads | from | as |",
        "| --- | --- | --- |",
        '| <responses> | written by <generate> | i64 "batch response" |',
        "| writes | for | as |",
        "| --- | --- | --- |",
        '| <ref\\_log\\_prob> | read by <rewards> and <update\\_actor> | f32 "batch response" |',
    ]


def test_facts_that_are_not_as_usual_and_rules() -> None:
    told = section(odd_project(), FIRST, "stages.md")

    assert told[2:8] == [
        "Does \\`this\\` and &lt;that\\>.",
        "More \\*of\\* it.",
        "- rows: repeat(rollout.n)",
        "- takes rows that are marked as padding",
        "- its results may carry an autograd graph",
        "- takes jagged tensors only",
    ]
    assert told[8] == "- rule fits of Reads: One \\| for each."


def test_a_stage_of_no_pipeline_says_what_it_declares() -> None:
    assert section(odd_project(), LOOSE, "stages.md")[2:4] == [
        "- rows: same",
        "It is in no pipeline.",
    ]


def test_two_stages_of_one_name_are_told_apart_and_each_is_led_to() -> None:
    one, other = stage("score", reads=[], writes=[field("a")]), stage("score", reads=[field("a")], writes=[])
    one, other = (
        made.model_copy(update={"qualname": name}) for made, name in ((one, "mine.Score"), (other, "its.Score"))
    )
    plan = PipelineSpec(name="plan", inputs=schema("Start"), stages=(one, other))
    project = Project(Contracts({made.qualname: made for made in (one, other)}, {}, {"plan": plan}))

    told = section(project, "stage-mine.Score", "stages.md")

    assert told[0] == "## score (mine)"
    assert told[-1] == "| <a> | read by <score> | non-tensor str \\| None |"
    assert "read by [score](stages.md#stage-its.Score)" in pages(project)["stages.md"]
