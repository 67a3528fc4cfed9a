"""The wheel holds what the tree holds, and constraints.txt pins what is installed."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ("schemas", "dataproto", "contracts")


def tree() -> list[str]:
    """The files of the repository: tracked, and new ones that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({name for name in listed if name and (ROOT / name).is_file()})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """Built from a copy of the tree, so that no left-over of an earlier build gets in."""
    source = tmp_path_factory.mktemp("source")
    for name in tree():
        if name.split("/")[0] in (*FLOORS, "pyproject.toml", "README.md", "LICENSE"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return ZipFile(next(out.glob("*.whl")))


def test_the_wheel_holds_the_tree(wheel: ZipFile) -> None:
    in_tree = {f"batchpact/{name}" for name in tree() if name.split("/")[0] in FLOORS}
    in_wheel = {name for name in wheel.namelist() if name.startswith("batchpact/")}

    assert in_tree - in_wheel == set(), "add these to [tool.setuptools] packages or package-data"
    assert in_wheel - in_tree == set()


def test_the_wheel_installs_nothing_outside_batchpact(wheel: ZipFile) -> None:
    tops = {PurePosixPath(name).parts[0] for name in wheel.namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"batchpact"}
    assert "batchpact/__init__.py" not in wheel.namelist(), "batchpact is a namespace package"


def test_the_wheel_is_typed(wheel: ZipFile) -> None:
    assert {f"batchpact/{floor}/py.typed" for floor in FLOORS} <= set(wheel.namelist())


def test_the_command_is_installed(wheel: ZipFile) -> None:
    entry_points = next(name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))

    text = wheel.read(entry_points).decode()
    assert "batchpact = batchpact.contracts.cli:main" in text
    assert "[pytest11]\nbatchpact = batchpact.contracts.testing.plugin" in text


STAGES = {
    "advantage": ("compute_advantage", "kl_in_reward", "use_scores"),
    "log_probs": ("ActorWorker.compute_old_log_prob", "ReferenceWorker.compute_ref_log_prob"),
    "reward": ("score_answers",),
    "rollout": ("RolloutWorker.generate",),
    "update": ("UpdateWorker.update_actor",),
}
READ = (
    "Generate",
    "ScoreAnswers",
    "ComputeOldLogProb",
    "ComputeRefLogProb",
    "KlInReward",
    "UseScores",
    "ComputeAdvantage",
    "UpdateActor",
)
OWN_TEST = """
from pathlib import Path
import batchpact.contracts
from batchpact.schemas.rl.grpo import KlInReward
from grpo_arithmetic.stages.advantage import kl_in_reward


def test_the_penalty_costs_something(batchpact_sample):
    assert Path(batchpact.contracts.__file__).is_relative_to(Path("site").resolve())
    batch = batchpact_sample(KlInReward.Reads, 3)
    assert kl_in_reward(batch).batch["token_level_rewards"].shape == batch.batch["token_level_scores"].shape
"""


@pytest.mark.slow
def test_the_plugin_tests_the_contracts_of_a_users_project(wheel: ZipFile, tmp_path: Path) -> None:
    """The example, in a folder of its own, with the package installed and nothing else of this repository."""
    example = tmp_path / "grpo_arithmetic"
    for file in tree():
        path = PurePosixPath(file)
        if path.is_relative_to("docs/examples/grpo_arithmetic") and path.suffix == ".py":
            copy = example / path.relative_to("docs/examples/grpo_arithmetic")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, copy)
    (tmp_path / "test_own.py").write_text(OWN_TEST)
    targets = '[tool.batchpact]\ntargets = ["grpo_arithmetic.pipeline", "grpo_arithmetic.stages"]\n'
    (tmp_path / "pyproject.toml").write_text(f"{targets}[tool.pytest.ini_options]\nbatchpact = true\n")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", "site", str(wheel.filename)]
    subprocess.run([sys.executable, "-m", "pip", *install], cwd=tmp_path, check=True)

    command = [sys.executable, "-m", "pytest", "-v", "--import-mode=importlib"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["site", "."]), "COLUMNS": "200"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr
    told = dict(re.findall(r"^(\S+::\S+)[^\n]* ([A-Z]+) ", run.stdout, flags=re.MULTILINE))
    stages = [f"grpo_arithmetic.stages.{module}.{name}" for module, names in STAGES.items() for name in names]
    schemas = [f"batchpact.schemas.rl.grpo.{stage}.{side}" for stage in READ for side in ("Reads", "Writes")]
    passed = ["test_own.py::test_the_penalty_costs_something", "batchpact::check[grpo_arithmetic]"]
    passed += [f"batchpact::lint[{name}]" for name in stages]
    passed += [f"batchpact::sample[{name}]" for name in ("batchpact.schemas.rl.grpo.PromptBatch", *schemas)]
    assert told == {
        **dict.fromkeys(passed, "PASSED"),
        **{f"batchpact::stage[{name}]": "SKIPPED" if "Worker" in name else "PASSED" for name in stages},
    }


def test_everything_installed_is_pinned() -> None:
    """A torch without a pin can be a CUDA build of several gigabytes."""
    asked = [*(requires("batchpact") or []), *lines("tests/peers.txt")]
    pinned = {name(line) for line in lines("constraints.txt") if "==" in line}

    assert {name(line) for line in asked} - pinned - {"batchpact"} == set()


def lines(path: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def name(requirement: str) -> str:
    found = re.match(r"[\w.-]*\w", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found.group()).lower()
