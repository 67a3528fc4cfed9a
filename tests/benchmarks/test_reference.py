"""What writing the reference of a large project takes: 300 stages, 3,000 fields."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.project import Project
from batchpact.contracts.reference.svg import svg
from tests.contracts.reference.large import large

pytestmark = [pytest.mark.bench, pytest.mark.benchmark(group="Reference of 300 stages, 3,000 fields")]


def test_proof(benchmark: BenchmarkFixture) -> None:
    contracts = large()
    benchmark.extra_info |= {"what": "the proof of its pipeline"}

    assert len(benchmark(lambda: Project(contracts).views)) == 1


def test_pages(benchmark: BenchmarkFixture) -> None:
    contracts = large()
    benchmark.extra_info |= {"what": "all Markdown pages, with the proof", "goal": "< 5 s"}

    assert len(benchmark(lambda: pages(Project(contracts)))) == 8


def test_graph(benchmark: BenchmarkFixture) -> None:
    pytest.importorskip("pygraphviz")
    view = Project(large()).views["large"]
    benchmark.extra_info |= {"what": "its graph", "goal": "< 5 s with the pages"}

    assert benchmark(svg, view).endswith("</svg>\n")
