"""What CI pays: a pipeline proved over a thousand configurations, and the code of 200 stages read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.contracts.lint.linter import lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.contracts.proof.flow import check_flow
from tests.contracts.lint.test_linter import many_stages
from tests.contracts.proof.test_flow_conditions import large

pytestmark = [pytest.mark.bench, pytest.mark.benchmark(group="Static checks")]


def test_check(benchmark: BenchmarkFixture) -> None:
    pipeline = large(200, 10, 10)
    benchmark.extra_info |= {
        "what": "check of 200 stages, 2,000 fields, 1,024 configurations",
        "goal": "< 1 s",
    }

    assert benchmark(check_flow, pipeline.spec, []) == []


def test_lint(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    with many_stages(tmp_path) as made:
        stages = stages_of(made.__name__)
        benchmark.extra_info |= {"what": "lint of 200 stages", "goal": "< 2 s"}
        report = benchmark(lint, stages).report

    assert len(report.findings) == 200
