"""The GitHub action and the pre-commit hooks: they can be read, and what they run is there and does what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from batchpact.contracts.cli import app
from tests.contracts.lock.repositories import commit, git

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


def options_of(command: str) -> set[str]:
    """The options of a command of `batchpact`; a KeyError where there is no such command."""
    found = get_command(app).commands[command]  # type: ignore[attr-defined]
    return {option for parameter in found.params for option in parameter.opts}


# --- pre-commit -------------------------------------------------------------------------------------------------------


def test_pre_commit_reads_the_hooks() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")

    loaded = clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    assert [hook["id"] for hook in loaded] == [
        "batchpact-check",
        "batchpact-lint",
        "batchpact-lock",
        "batchpact-docs",
    ]
    assert not any(hook["pass_filenames"] for hook in loaded)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_a_command_that_is_there(hook: dict[str, Any]) -> None:
    program, command, *options = shlex.split(hook["entry"])

    assert program == "batchpact"
    assert set(options) <= options_of(command)


# --- the action -------------------------------------------------------------------------------------------------------


def test_every_input_is_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")

    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert all(told["description"] for told in ACTION["inputs"].values())


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_no_expression_stands_in_a_script(step: dict[str, Any]) -> None:
    """What somebody writes into a pull request would be run; as a variable of the environment it is not."""
    assert "${{" not in step["run"]
    assert step["shell"] == "bash"


@pytest.mark.parametrize("name", [name for name in STEPS if name != "batchpact is installed"])
def test_a_step_runs_a_command_that_is_there(name: str) -> None:
    [line] = [line for line in STEPS[name]["run"].splitlines() if line.lstrip().startswith("batchpact ")]
    command, *arguments = line.split()[1:]

    assert {argument for argument in arguments if re.fullmatch(r"--\w[\w-]*", argument)} <= options_of(command)


PLAN = """
from jaxtyping import Float32
from torch import Tensor
from batchpact.contracts import Pipeline, stage
from batchpact.schemas import BatchSchema, StageSchema

class Start(BatchSchema):
    x: Float32[Tensor, "batch"]

class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]
    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]

@stage
def score(batch: Score.Reads) -> Score.Writes:
    return Score.Writes(y=batch.x)

plan = Pipeline("plan", inputs=Start, stages=[score])
"""


class Runner:
    """Runs the steps of the action as GitHub's runner does, in a project with one commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        (self.folder / "trainer_plan.py").write_text(PLAN)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "batchpact").write_text(
            f"#!{sys.executable}\nfrom batchpact.contracts.cli import main\nmain()\n", encoding="utf-8"
        )
        (programs / "batchpact").chmod(0o755)
        self.path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.batchpact("lock", "trainer_plan")
        git(self.folder, "init", "--quiet")
        commit(self.folder, "the base")

    def batchpact(self, *arguments: str) -> None:
        subprocess.run(["batchpact", *arguments], cwd=self.folder, env=self._environment(), check=True)

    def step(self, name: str, **variables: str) -> tuple[int, list[str]]:
        """The exit code of a step, and the lines that it prints."""
        told = {"TARGETS": "trainer_plan", "LOCK_FILE": "batchpact.lock.json", "ALLOW": "", "BASELINE": ""}
        run = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
            cwd=self.folder,
            env=self._environment(**{**told, **variables}),
            capture_output=True,
            text=True,
            check=False,
        )
        return run.returncode, [*run.stdout.splitlines(), *run.stderr.splitlines()]

    def _environment(self, **variables: str) -> dict[str, str]:
        modules = os.pathsep.join(filter(None, sys.path))
        return {**os.environ, "PATH": self.path, "PYTHONPATH": modules, **variables}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("action"))


@pytest.mark.slow
def test_a_healthy_project_passes_every_step(runner: Runner) -> None:
    assert runner.step("batchpact is installed") == (0, [])
    assert runner.step("batchpact check") == (0, ["pipeline 'plan' (1 stage, 2 fields): passed"])
    assert runner.step("batchpact lint") == (0, ["the code of 'score' (1 file): passed"])
    assert runner.step("batchpact lock --check") == (
        0,
        ["the code against batchpact.lock.json (0 changes, none of them breaking): passed"],
    )
    assert runner.step("batchpact diff", AGAINST="main") == (
        0,
        ["the code against batchpact.lock.json in main (0 changes, none of them breaking): passed"],
    )


@pytest.mark.slow
def test_a_change_that_breaks_somebody_fails_unless_it_is_allowed(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    plan = runner.folder / "trainer_plan.py"
    plan.write_text(
        PLAN.replace('        y: Float32[Tensor, "batch"]', '        y: Float32[Tensor, "batch"] | None = None')
    )
    code, lines = runner.step("batchpact diff", AGAINST="main")

    assert code == 1
    assert [line.partition(" file=")[0] for line in lines] == [
        "the code against batchpact.lock.json in main (1 change, 1 of them breaking): failed",
        "::error",
    ]
    assert runner.step("batchpact diff", AGAINST="main", ALLOW="field-became-optional dtype-widened")[0] == 0
    assert runner.step("batchpact lock --check")[0] == 1


def test_a_lock_file_that_is_new_has_nothing_to_be_compared_with(runner: Runner) -> None:
    assert runner.step("batchpact diff", AGAINST="main", LOCK_FILE="other.json")[0] == 0


@pytest.mark.slow
def test_a_base_that_the_checkout_does_not_have_is_fetched(tmp_path: Path) -> None:
    origin = Runner(tmp_path)
    base = git(origin.folder, "rev-parse", "HEAD")
    (origin.folder / "more").write_text("")
    commit(origin.folder, "the head")
    git(origin.folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin.folder}", "clone")
    origin.folder = tmp_path / "clone"

    code, lines = origin.step("batchpact diff", AGAINST=base)
    assert (code, lines[-1]) == (
        0,
        f"the code against batchpact.lock.json in {base} (0 changes, none of them breaking): passed",
    )


def test_without_batchpact_it_says_what_to_do(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "path", "/usr/bin:/bin")

    assert runner.step("batchpact is installed") == (
        2,
        ["::error title=batchpact::It is not installed: install your project, with batchpact, in a step before"],
    )
