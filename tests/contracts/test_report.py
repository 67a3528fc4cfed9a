"""The result of a static check, as data and as text."""

from __future__ import annotations

import pytest

from batchpact.contracts import Report
from batchpact.schemas import ContractError, MissingFieldError, Violation, Where

MISSING = Violation(
    code="BP001", field="scores", expected='f32 "batch"', hint="nobody writes it", where=Where(stage="use")
)
PLACE = Violation(
    code="BP003", field="uid", actual="meta str", expected="non-tensor, one per row", where=Where(stage="group")
)
DTYPE = Violation(code="BP005", field="x", actual="f16", expected="f32", severity="warning")


def test_a_report_without_findings() -> None:
    report = Report("pipeline 'grpo'", "7 stages, 1 field")

    assert (report.ok, report.errors) == (True, ())
    assert str(report) == "pipeline 'grpo': 7 stages, 1 field, no problems"
    report.raise_errors()


def test_warnings_are_findings_and_no_errors() -> None:
    report = Report("pipeline 'grpo'", "1 stage", (DTYPE,))

    assert (report.ok, report.errors) == (True, ())
    assert str(report) == "1 problem in pipeline 'grpo' (1 stage)\n\n  BP005 dtype  x  f16, declared f32"
    report.raise_errors()


def test_every_finding_is_printed_with_its_stage() -> None:
    report = Report("pipeline 'grpo'", "2 stages", (MISSING, PLACE, DTYPE))

    assert (report.ok, report.errors) == (False, (MISSING, PLACE))
    assert str(report) == (
        "3 problems in pipeline 'grpo' (2 stages)\n\n"
        '  BP001 missing  use: scores  declared f32 "batch"; nobody writes it\n'
        "  BP003 place    group: uid   meta str; declared non-tensor, one per row\n"
        "  BP005 dtype    x            f16, declared f32"
    )


def test_errors_are_raised_without_the_warnings() -> None:
    with pytest.raises(ContractError) as caught:
        Report("pipeline 'grpo'", "2 stages", (MISSING, PLACE, DTYPE)).raise_errors()

    assert str(caught.value) == (
        "2 problems in pipeline 'grpo', which was not started\n\n"
        '  BP001 missing  use: scores  declared f32 "batch"; nobody writes it\n'
        "  BP003 place    group: uid   meta str; declared non-tensor, one per row"
    )


def test_missing_names_alone_are_a_missing_field_error() -> None:
    with pytest.raises(MissingFieldError):
        Report("pipeline 'grpo'", "1 stage", (MISSING, DTYPE)).raise_errors()
