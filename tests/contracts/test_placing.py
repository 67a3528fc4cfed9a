"""Where contracts stand in the source."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from batchpact.contracts.placing import from_here, place_of, placed
from batchpact.contracts.report import Report
from batchpact.schemas import PipelineSpec, Violation, Where
from tests.contracts.projects import project as project

SOURCE = """\
from batchpact.contracts import stage
from batchpact.schemas import BatchSchema, Meta, StageSchema


class Common(BatchSchema):
    step: Meta[int]


if True:

    class Score(StageSchema):
        class Reads(Common):
            clip: Meta[float] = 0.2

        class Writes(BatchSchema):
            clip: Meta[float]


def make() -> type[StageSchema]:
    class Made(StageSchema):
        class Reads(BatchSchema):
            x: Meta[int]

    return Made


class Worker:
    @stage(Score)
    def score(self, data: object) -> object:
        return data


Made = make()
"""


@pytest.fixture
def placed_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A module of this source in the working directory; its name."""
    (tmp_path / "placed_plan.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "placed_plan", raising=False)
    importlib.import_module("placed_plan")
    return "placed_plan"


@pytest.mark.parametrize(
    ("name", "field", "line"),
    [
        ("Score", "", 11),
        ("Score.Reads", "", 12),
        ("Score.Reads", "clip", 13),
        ("Score.Writes", "clip", 16),
        ("Score.Reads", "step", 12),
        ("make.Made.Reads", "x", 22),
        ("Worker.score", "", 29),
        ("Nowhere", "", None),
    ],
)
def test_the_line_of_a_definition(placed_plan: str, name: str, field: str, line: int | None) -> None:
    """An inherited field stands where the class does."""
    assert place_of(f"{placed_plan}.{name}", field) == Where(file="placed_plan.py", line=line)


@pytest.mark.parametrize("qualname", ["nowhere.Score", "sys.version", "plain", ""])
def test_what_has_no_source_has_no_place(qualname: str) -> None:
    assert place_of(qualname) == Where()


def test_a_file_that_is_gone_has_no_lines(placed_plan: str, tmp_path: Path) -> None:
    (tmp_path / "placed_plan.py").unlink()

    assert place_of(f"{placed_plan}.Score") == Where(file="placed_plan.py")


def test_paths_are_told_from_the_working_directory(project: Path) -> None:
    outside = project.parent / "elsewhere.py"

    assert from_here(str(project / "trainer_pkg" / "shared.py")) == "trainer_pkg/shared.py"
    assert from_here(str(outside)) == outside.resolve().as_posix()


@pytest.mark.usefixtures("project")
def test_each_finding_of_a_check_gets_the_place_of_its_field() -> None:
    from batchpact.contracts.targets import load

    _, broken = load("broken_plan.py")
    found = placed(broken.check(), broken.spec)

    assert [(finding.where.stage, finding.where.file, finding.where.line) for finding in found.findings] == [
        ("use", "broken_plan.py", 21)
    ]
    assert "totals" in Path("broken_plan.py").read_text().splitlines()[20]
    assert str(found) == str(broken.check())


@pytest.mark.parametrize(("boundary", "line"), [("reads", 13), ("writes", 16)])
def test_a_field_that_is_read_and_written_has_two_places(placed_plan: str, boundary: str, line: int) -> None:
    score = sys.modules[placed_plan].Score.__batchpact__
    finding = Violation(code="BP003", field="clip", where=Where(stage="score", boundary=boundary))
    pipeline = PipelineSpec(name="plan", inputs=score.reads, stages=(score,))
    [found] = placed(Report("pipeline 'plan'", "1 stage", (finding,)), pipeline).findings

    assert (found.where.file, found.where.line, found.where.boundary) == ("placed_plan.py", line, boundary)


def test_a_field_that_a_stage_does_not_declare_stands_where_the_stage_does(placed_plan: str) -> None:
    score = sys.modules[placed_plan].Score.__batchpact__
    finding = Violation(code="BP061", field="nowhere", where=Where(stage="score"))
    pipeline = PipelineSpec(name="plan", inputs=score.reads, stages=(score,))
    [found] = placed(Report("pipeline 'plan'", "1 stage", (finding,)), pipeline).findings

    assert (found.where.file, found.where.line) == ("placed_plan.py", 11)


def test_a_finding_without_a_stage_and_one_with_a_place_stay_as_they_are() -> None:
    from tests.contracts.small_pipeline import pipeline

    somewhere = Where(stage="measure", file="a.py", line=3)
    findings = (
        Violation(code="BP001", field="x", where=Where(stage="outputs")),
        Violation(code="BP071", field="best", where=somewhere),
    )
    report = Report("pipeline 'small'", "6 stages", findings)

    assert placed(report, pipeline().spec) == report
