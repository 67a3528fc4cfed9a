"""The pytest plugin in projects of its users, each run in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow

STAGES = """
    import torch
    from jaxtyping import Float32
    from torch import Tensor
    from batchpact.contracts import Pipeline, stage
    from batchpact.schemas import BatchSchema, Columns, StageSchema, config, named_by

    class Start(BatchSchema):
        scores: Float32[Tensor, "batch response"]

    class Sum(StageSchema):
        class Reads(BatchSchema):
            scores: Float32[Tensor, "batch response"]
        class Writes(BatchSchema):
            total: Float32[Tensor, "batch"]

    class Use(StageSchema):
        class Reads(BatchSchema):
            totals: Float32[Tensor, "batch"]

    class Open(BatchSchema):
        parts: Columns[Float32[Tensor, "batch"]] = named_by(config("parts"))

    @stage
    def add(batch: Sum.Reads) -> Sum.Writes:
        return Sum.Writes(total=batch.scores.sum(dim=1))

    @stage
    def add_up(batch: Sum.Reads) -> Sum.Writes:
        return Sum.Writes(total=batch.scores.sum(dim=1).cumsum(dim=0))

    @stage
    def misread(batch: Sum.Reads) -> Sum.Writes:
        return Sum.Writes(total=batch.scored.sum(dim=1))

    class Worker:
        @stage
        def add(self, batch: Sum.Reads) -> Sum.Writes:
            return Sum.Writes(total=batch.scores.sum(dim=1))

    def inner():
        @stage
        def hidden(batch: Sum.Reads) -> Sum.Writes:
            return Sum.Writes(total=batch.scores.sum(dim=1))

    inner()
    sound = Pipeline("sound", inputs=Start, stages=[add])
    broken = Pipeline("broken", inputs=Start, stages=[add, Use])
"""
OWN = """
    import sys

    def test_own():
        assert "torch" not in sys.modules
"""
SAMPLES = """
    from stages import Start

    def test_batches(batchpact_sample):
        batch = batchpact_sample(Start, 2, dims={"response": 3})
        assert batch.batch["scores"].shape == (2, 3)
        assert batch.batch["scores"].equal(batchpact_sample(Start, 2, dims={"response": 3}).batch["scores"])
"""
LISTED = [
    "batchpact::check[sound]",
    "batchpact::check[broken]",
    *(f"batchpact::{kind}[stages.{name}]" for name in ("add", "add_up", "misread") for kind in ("lint", "stage")),
    *(f"batchpact::{kind}[stages.{name}]" for name in ("Worker.add", "inner.hidden") for kind in ("lint", "stage")),
    *(f"batchpact::sample[stages.{name}]" for name in ("Start", "Sum.Reads", "Sum.Writes", "Use.Reads", "Open")),
]
FAILED = {"check[broken]", "stage[stages.add_up]", "lint[stages.misread]", "stage[stages.misread]"}
SKIPPED = {
    "stage[stages.Worker.add]": "it needs an object: check_stage(worker.method)",
    "stage[stages.inner.hidden]": "its module has no name for it",
    "sample[stages.Open]": "configuration parts is not there; it names these columns; set parts; "
    'named_by(config("parts", default=[])) is for names that may be missing',
}


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with this plugin and no other."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "300"}
    command = [sys.executable, "-m", "pytest", "-p", "batchpact.contracts.testing.plugin", "-p", "no:cacheprovider"]
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), *filter(None, sys.path)])
    return subprocess.run(
        [*command, "--import-mode=importlib", *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in {"stages.py": STAGES, "test_own.py": OWN, "samples.py": SAMPLES}.items():
        (folder / name).write_text(dedent(text), encoding="utf-8")
    (folder / "pyproject.toml").write_text('[tool.batchpact]\ntargets = ["stages"]\n', encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(project: Path) -> subprocess.CompletedProcess[str]:
    """One run over everything."""
    return pytest_in(project, "-v", "--batchpact=stages", "--junitxml=results.xml", "test_own.py")


def test_every_contract_and_check_is_a_test(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 1, run.stdout + run.stderr
    told = re.findall(r"^(batchpact::\S+)[^\n]* (PASSED|FAILED|SKIPPED)", run.stdout, flags=re.MULTILINE)

    assert sorted(name for name, _ in told) == sorted(LISTED)
    assert {name.partition("::")[2] for name, how in told if how == "FAILED"} == FAILED
    assert {name.partition("::")[2] for name, how in told if how == "SKIPPED"} == set(SKIPPED)
    assert f"collected {len(LISTED) + 1} items" in run.stdout


def test_a_failure_is_the_report_of_batchpact(run: subprocess.CompletedProcess[str]) -> None:
    out = run.stdout

    assert "Traceback" not in out and "collecting.py" not in out.partition("= FAILURES =")[2].partition("= short")[0]
    assert (
        "1 problem in pipeline 'broken' (2 stages, 3 fields)\n\n"
        '  BP001 missing  use: totals  declared f32 "batch"; nothing before writes it, and no known stage does; '
        "closest name: 'total', written by 'add'"
    ) in out
    assert "BP071 reads  misread: scored" in out
    assert "1 problem where stage 'add_up' runs on samples\n\n  BP058 conduct  total" in out


def test_the_results_are_in_the_xml_of_junit(run: subprocess.CompletedProcess[str], project: Path) -> None:
    cases = [*ElementTree.parse(project / "results.xml").iter("testcase")]
    mine = {case.get("name", ""): case for case in cases if case.get("classname") == "batchpact"}

    assert {f"batchpact::{name}" for name in mine} == set(LISTED)
    skipped = {name: each for name, case in mine.items() if (each := case.find("skipped")) is not None}
    assert {name: each.get("message") for name, each in skipped.items()} == SKIPPED
    assert {name for name, case in mine.items() if case.find("failure") is not None} == FAILED


def test_the_targets_of_the_project_are_listed_without_a_run(project: Path) -> None:
    listed = pytest_in(project, "--collect-only", "-q", "-k", "sample", "test_own.py", "--batchpact")

    lines = [line for line in listed.stdout.splitlines() if "::" in line]
    assert lines == [name for name in LISTED if "sample[" in name]
    assert (
        f"{len(lines)}/{len(LISTED) + 1} tests collected ({len(LISTED) + 1 - len(lines)} deselected)" in listed.stdout
    )


def test_an_option_of_the_file_asks_for_them_in_every_run_and_a_marker_chooses_them(project: Path) -> None:
    listed = pytest_in(project, "--collect-only", "-q", "-m", "batchpact", "-o", "batchpact=true", "test_own.py")

    assert [line for line in listed.stdout.splitlines() if "::" in line] == LISTED


def test_nobody_is_tested_who_did_not_ask_and_torch_is_not_imported(project: Path) -> None:
    plain = pytest_in(project, "-q", "test_own.py", "--strict-markers", "--strict-config")

    assert plain.returncode == 0, plain.stdout + plain.stderr
    assert "1 passed" in plain.stdout


def test_the_fixture_draws_batches_by_the_name_of_the_test(project: Path) -> None:
    ran = pytest_in(project, "-q", "samples.py")

    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere", "BP052 setting  target  there is no module nowhere; an importable module, or path.py:name"),
        ("stages:torch", "BP052 setting  target  torch holds no contract; a pipeline, a stage or a schema"),
    ],
)
def test_a_target_that_leads_nowhere_ends_the_run(project: Path, target: str, said: str) -> None:
    ended = pytest_in(project, f"--batchpact={target}", "test_own.py")

    assert ended.returncode == 2
    assert "ERROR collecting batchpact" in ended.stdout
    assert said in ended.stdout
    assert "Traceback" not in ended.stdout


def test_the_options_are_documented() -> None:
    shown = pytest_in(Path.cwd(), "--help").stdout

    assert "data contracts (batchpact):\n  --batchpact=[TARGET]" in shown
    assert "batchpact (bool):" in shown
