"""The page of a pipeline, with its matrix."""

from __future__ import annotations

import re

from batchpact.contracts.reference.markdown.matrix import WIDE
from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.large import large
from tests.contracts.reference.markdown.test_fields import section
from tests.contracts.reference.small import odd_project, ppo_project

PPO = "pipelines/ppo.md"


def test_the_matrix_says_who_reads_writes_and_drops_and_what_depends_on_the_configuration() -> None:
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in section(ppo_project(), "matrix", PPO)}

    assert [cell.strip(" |") for cell in rows["<response\\_mask>"]] == ["", "W", *[""] * 6, "R", "(R)", "(R)"]
    assert [cell.strip(" |") for cell in rows["<uid>"]] == ["W", *[""] * 7, "(R)", "", ""]


def test_a_wide_matrix_has_several_tables_each_with_the_fields_of_its_stages() -> None:
    text = pages(Project(large(60, 200)))["pipelines/large.md"]
    matrix = text.partition('<a id="matrix"></a>')[2].partition('<a id="findings">')[0]
    heads = [line for line in matrix.splitlines() if line.startswith("| field")]

    assert len(heads) == 60 // WIDE
    assert [len(re.findall(r"#stage-", head)) for head in heads] == [WIDE] * 5


def test_findings_stand_with_the_configuration_that_has_them() -> None:
    assert section(Project(large(60, 600)), "findings", "pipelines/large.md")[1:] == [
        "- <BP001> missing at stage\\_004: <stage\\_003\\_field\\_00>: declared non-tensor str; 'stage\\_003' "
        "writes it, and not in every configuration; with trainer.part\\_0=False"
    ]
    assert section(ppo_project(), "findings", PPO)[1:] == ["`batchpact check` finds nothing."]


def test_conditions_say_what_they_switch() -> None:
    assert section(ppo_project(), "conditions", PPO)[-2:] == [
        "| <meta validate> | True; False | stage <update\\_actor> |",
        "| <reward\\_model.enable> | True; False | stage <reward\\_model> and <rm\\_scores> of <score> |",
    ]


def test_a_stage_that_stands_twice_has_two_places() -> None:
    text = pages(odd_project())["pipelines/odd-pipeline.md"]

    assert re.findall(r'<a id="(stage-[^"]*)"', text) == [
        "stage-first",
        "stage-again-inner-6f258b",
        "stage-again-inner-6f258b-2",
        "stage-unknown-start-0c021b",
    ]
