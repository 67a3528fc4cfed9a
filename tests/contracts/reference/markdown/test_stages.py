"""The page of stages: what each does, what it reads and writes, which configuration changes that."""

from __future__ import annotations

from batchpact.contracts.reference.slugs import slug
from tests.contracts.reference.markdown.test_fields import section
from tests.contracts.reference.small import odd_project, ppo_project

FIRST, LOOSE = (f"stage-{slug(f'odd.<locals>.{name}')}" for name in ("First", "Loose"))


def test_a_stage_answers_the_three_questions() -> None:
    assert section(ppo_project(), "stage-tests.contracts.proof.ppo.RefLogProb", "stages.md") == [
        "## ref\\_log\\_prob",
        "`tests.contracts.proof.ppo.RefLogProb`",
        "- rows: same",
        "In <ppo> it is stage 5 of 10, <ref\\_log\\_prob>, where <use\\_reference> "
        "(<algorithm.use\\_kl\\_in\\_reward> or <actor.use\\_kl\\_loss>):",
        "| reads | as | from |",
        "| --- | --- | --- |",
        '| <responses> | i64 "batch response" | written by <generate> |',
        "| writes | as | for |",
        "| --- | --- | --- |",
        '| <ref\\_log\\_prob> | f32 "batch response" | read by <rewards> and <update\\_actor> |',
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
