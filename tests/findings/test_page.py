"""The page about these findings says what the check prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchpact.contracts import Pipeline, Report
from batchpact.contracts.proof.flow import check_flow
from tests.findings.contracts import advantage, colocated, step

PAGE = (Path(__file__).parents[2] / "docs" / "findings-in-verl.md").read_text()


@pytest.mark.parametrize("pipeline", [advantage, step, colocated], ids=lambda pipeline: pipeline.name)
def test_the_page_shows_each_line_of_the_check(pipeline: Pipeline) -> None:
    report = Report(pipeline.name, "", tuple(check_flow(pipeline.spec, [])))

    for line in str(report).splitlines()[2:]:
        assert line.strip() in PAGE
