"""The page of fields: where each lives, what it is, who writes it, who reads it next, what changes that."""

from __future__ import annotations

import re

from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.small import odd_project, ppo_project


def section(project: Project, anchor: str, page: str = "fields.md") -> list[str]:
    """The lines of an entry, with links as their texts."""
    text = pages(project)[page].partition(f'<a id="{anchor}"></a>')[2].partition("<a id")[0]
    return [re.sub(r"(?<!\\)\[([^\]]*)\]\([^)]*\)", r"<\1>", line) for line in text.splitlines() if line]


def test_a_field_answers_the_questions_of_a_reader() -> None:
    assert section(ppo_project(), "field-ref_log_prob") == [
        "## ref\\_log\\_prob",
        "| declared as | and | by |",
        "| --- | --- | --- |",
        '| f32 "batch response" |  | written by <ref\\_log\\_prob> |',
        '| f32 "batch response" | where <algorithm.use\\_kl\\_in\\_reward> | read by <rewards> |',
        '| f32 "batch response" | where <actor.use\\_kl\\_loss> | read by <update\\_actor> |',
        'In <ppo>, f32 "batch response":',
        "- written by <ref\\_log\\_prob>: where <use\\_reference> (<algorithm.use\\_kl\\_in\\_reward> or "
        "<actor.use\\_kl\\_loss>); read by <rewards> and <update\\_actor>",
        "- read by <rewards>: where <algorithm.use\\_kl\\_in\\_reward>",
        "- read by <update\\_actor>: where <actor.use\\_kl\\_loss>; where not <meta validate>",
    ]


def test_its_meaning_its_findings_and_its_policies() -> None:
    scores = section(odd_project(), "field-scores")
    assert scores[1:3] == [
        "Scores \\| of &lt;b\\>all&lt;/b\\> rows; see \\[there\\](nowhere.md).",
        "**Findings**: <BP001> in <Odd / pipeline> and <BP001> in <odd-pipeline>",
    ]
    assert section(odd_project(), "field-metrics")[3:] == [
        '| f32 "batch n" | finite; &lt;= 3; a key: no two rows have the same; merged by close (rtol=0.1); '
        "padded with 0 on the left; filled with -1 in rows that do not have it | written by <loose>; in <Alone> |",
        "Its <policies>, beside those of other fields.",
    ]


def test_open_columns_are_a_field_under_their_attribute() -> None:
    assert section(odd_project(), "field-extra")[3] == "| non-tensor Any, named by meta names | read by <again/inner> |"
