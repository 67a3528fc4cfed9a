"""What belongs to a project: which contracts its targets name."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchpact.contracts.lock.collect import collect
from batchpact.contracts.lock.file import Contracts, dump
from batchpact.schemas import SettingError
from tests.contracts.lock.versions import importable
from tests.contracts.stages import refusal

HEAD = """
    from jaxtyping import Float32
    from torch import Tensor
    from batchpact.contracts import Pipeline, stage
    from batchpact.schemas import BatchSchema, StageSchema
    from batchpact.schemas.rl.grpo import UseScores

    class Saved(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Start(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Score(StageSchema):
        class Reads(Start):
            pass
        class Writes(BatchSchema):
            y: Float32[Tensor, "batch"]
"""
FUNCTION = """
    @stage
    def score(batch: Score.Reads) -> Score.Writes:
        return Score.Writes(y=batch.x)
"""
METHOD = """
    class Worker:
        @stage(Score)
        def score(self, data: object) -> object:
            return data
"""
PIPELINE = """
    plan = Pipeline("plan", inputs=Saved, stages=[Score])
    same = plan
"""


class Project:
    """A module `trainer`, and what is in it as targets see it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._folder = folder

    def of(self, source: str, *targets: str) -> Contracts:
        with importable(source, self._monkeypatch, self._folder):
            return collect(targets or ["trainer"])

    def names(self, source: str, *targets: str) -> tuple[list[str], list[str], list[str]]:
        found = self.of(source, *targets)
        return sorted(found.stages), sorted(found.schemas), sorted(found.pipelines)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(monkeypatch, tmp_path)


def test_a_module_stands_for_what_is_defined_in_it(project: Project) -> None:
    """Not for what it imports; a schema from which others are derived is no contract of its own."""
    assert project.names(HEAD) == (["trainer.Score"], ["trainer.Saved"], [])


def test_a_function_stands_for_the_contract_that_it_keeps_to(project: Project) -> None:
    assert project.names(HEAD + FUNCTION) == (["trainer.score"], ["trainer.Saved"], [])


def test_methods_are_found_in_their_classes(project: Project) -> None:
    assert project.names(HEAD + METHOD) == (["trainer.Worker.score"], ["trainer.Saved"], [])


def test_a_pipeline_brings_its_stages_and_its_inputs(project: Project) -> None:
    assert project.names(HEAD + PIPELINE) == (["trainer.Score"], [], ["plan"])
    assert project.names(HEAD + PIPELINE, "trainer:plan") == (["trainer.Score"], [], ["plan"])


def test_a_schema_that_a_pipeline_takes_is_listed_beside_its_function(project: Project) -> None:
    assert project.names(HEAD + FUNCTION + PIPELINE) == (["trainer.Score", "trainer.score"], [], ["plan"])


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("trainer:Score", (["trainer.Score"], [], [])),
        ("trainer.py:score", (["trainer.score"], [], [])),
        ("trainer:Start", ([], ["trainer.Start"], [])),
        ("trainer:Worker.score", (["trainer.Worker.score"], [], [])),
        ("trainer:UseScores", (["batchpact.schemas.rl.grpo.UseScores"], [], [])),
    ],
)
def test_one_contract_by_its_name(project: Project, target: str, names: tuple[list[str], list[str], list[str]]) -> None:
    assert project.names(HEAD + FUNCTION + METHOD, target) == names


def test_a_package_stands_for_its_modules_too(project: Project, tmp_path: Path) -> None:
    """For those that its import imports, in whatever order."""
    package = tmp_path / "workers_pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from workers_pkg import critic\n")
    (package / "critic.py").write_text("from trainer import Score\nclass Values(Score):\n    pass\n")
    (package / "unused.py").write_text("from trainer import Score\nclass Unused(Score):\n    pass\n")

    assert project.names(HEAD, "workers_pkg") == (["workers_pkg.critic.Values"], [], [])


def test_the_order_of_targets_changes_nothing(project: Project) -> None:
    source = HEAD + FUNCTION + METHOD + PIPELINE
    one = project.of(source, "trainer:plan", "trainer:score", "trainer")
    other = project.of(source, "trainer", "trainer:score", "trainer:plan")

    assert dump(one) == dump(other)


def test_a_stage_that_runs_twice_or_in_a_part_is_one_contract(project: Project) -> None:
    more = """
    inner = Pipeline("inner", inputs=Saved, stages=[Score])
    outer = Pipeline("outer", inputs=Saved, stages=[Score, inner, Score])
    """

    assert project.names(HEAD + more) == (["trainer.Score"], [], ["inner", "outer"])


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ("x = 1", "trainer", "trainer holds no contract; name a module that defines one"),
        (
            HEAD,
            "trainer:Tensor",
            "Tensor is a class; a Pipeline, a stage, a StageSchema or a BatchSchema belongs",
        ),
        (HEAD, "trainer:BatchSchema.model_config", "BatchSchema.model_config is a dict; a Pipeline, a stage, a "),
        (HEAD, "trainer:Scor", "trainer has no 'Scor'; closest name: 'Score'"),
        (
            HEAD + PIPELINE + '    other = Pipeline("plan", inputs=Saved, stages=[])\n',
            "trainer",
            "two pipelines are called 'plan'; give them names that tell them apart",
        ),
        (
            HEAD
            + """
    def made(name):
        class Made(StageSchema):
            drops = (name,)
        return Made
    one, other = made("a"), made("b")
    """,
            "trainer",
            "two different stages are called trainer.made.Made; give them names that tell them apart",
        ),
    ],
)
def test_what_is_no_contract_is_refused(project: Project, source: str, target: str, problem: str) -> None:
    text = refusal(lambda: project.of(source, target), SettingError)

    assert text.startswith(f"1 problem in the target {target}\n\n  BP052 setting  target  {problem}")
