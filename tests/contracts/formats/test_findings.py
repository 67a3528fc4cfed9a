"""The one record from which every format is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batchpact.contracts.formats.findings import Document, Finding, explanation, of_diff, of_error, of_report
from batchpact.contracts.lock.rules import RULES
from batchpact.schemas import CODES
from tests.contracts.formats.samples import (
    BROKEN,
    DESCRIBED,
    DIFF,
    DTYPE,
    EVERYTHING,
    MISSING,
    REMOVED,
    REPORT,
    WIDENED,
)

SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"


def test_a_report_is_its_violations_but_for_the_ignored_ones() -> None:
    section = of_report(REPORT)

    assert (section.subject, section.checked, section.ok) == ("pipeline 'ppo'", "2 stages, 3 fields", False)
    assert section.headline == "pipeline 'ppo' (2 stages, 3 fields): failed"
    assert section.findings == (
        Finding(
            rule="BP001",
            title="missing",
            level="error",
            subject="use: scores",
            message='declared f32 "batch"; nobody writes it',
            file="trainer/plan.py",
            line=12,
            column=5,
            violation=MISSING,
        ),
        Finding(
            rule="BP005", title="dtype", level="warning", subject="x", message="f16, declared f32", violation=DTYPE
        ),
    )


def test_a_declaration_that_does_not_hold_is_a_report() -> None:
    section = of_error(BROKEN)

    assert (section.headline, section.ok) == ("the declaration of Score: failed", False)
    assert [(finding.label, finding.subject, finding.message) for finding in section.findings] == [
        ("BP051 declared", "y", "float is no place")
    ]


def test_a_change_is_as_bad_as_what_it_breaks() -> None:
    section = of_diff(DIFF)

    assert section.headline == "the code against a.json in main (3 changes, 1 of them breaking): failed"
    assert section.findings == (
        Finding(
            rule="field-removed",
            title="field removed",
            level="error",
            subject="stage 'score' writes.y",
            message='was f32 "batch"; breaks new data with old readers: old readers that need it do not find it; '
            "upgrade readers first",
            change=REMOVED,
        ),
        Finding(
            rule="dtype-widened",
            title="dtype widened",
            level="warning",
            subject="stage 'score' writes.y",
            message="f32 -> float; breaks new data with old readers: old readers accept fewer dtypes; "
            "upgrade readers first",
            change=WIDENED,
        ),
        Finding(
            rule="description-changed",
            title="description changed",
            level="note",
            subject="stage 'score'",
            message="Old. -> New.",
            change=DESCRIBED,
        ),
    )


def test_where_there_should_be_no_changes_every_one_is_a_problem() -> None:
    section = of_diff(DIFF, drift=True)

    assert ([finding.level for finding in section.findings], section.ok) == (["error", "warning", "warning"], False)


@pytest.mark.parametrize("rule", [*CODES, *RULES])
def test_every_code_and_every_rule_is_explained(rule: str) -> None:
    told = explanation(rule)

    assert all(told)
    assert all(text.endswith(".") for text in told[1:])


def test_an_explanation_of_a_rule() -> None:
    assert explanation("field-removed") == (
        "field removed",
        "A field that had to be there was removed.",
        "Old readers that need it do not find it.",
        "Upgrade readers first. Where the change is meant, --allow field-removed.",
    )
    assert explanation("drop-removed") == (
        "drop removed",
        "A stage leaves a field in the batch that it dropped.",
        "Readers that do not ask for it do not see it.",
        "Nothing has to be done.",
    )


def test_the_findings_of_all_reports() -> None:
    assert [finding.rule for finding in EVERYTHING.findings] == [
        "BP001",
        "BP005",
        "BP051",
        "field-removed",
        "dtype-widened",
        "description-changed",
    ]


def test_the_documented_schema_of_the_json_format_is_current() -> None:
    """To write it anew: python -m tests.contracts.formats.test_findings"""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == Document.model_json_schema()


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(Document.model_json_schema(), indent=2) + "\n", encoding="utf-8")
