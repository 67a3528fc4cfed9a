"""The command line: texts and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from tests.contracts.projects import FINE, WRONG
from tests.contracts.projects import project as project


def check(*targets: str) -> tuple[int, str]:
    """The exit code and the output of `batchpact check`."""
    result = CliRunner().invoke(app, ["check", *targets])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.usefixtures("project")
class TestCheck:
    def test_a_healthy_pipeline_exits_with_0(self) -> None:
        assert check("healthy_plan.py:small") == (0, FINE + "\n")

    def test_a_pipeline_with_problems_exits_with_1(self) -> None:
        assert check("broken_plan:broken") == (1, WRONG + "\n")

    def test_every_pipeline_of_every_target_is_checked(self) -> None:
        assert check("broken_plan.py", "healthy_plan.py") == (1, f"{FINE}\n{WRONG}\n{FINE}\n")

    def test_a_target_that_cannot_be_used_exits_with_2(self) -> None:
        assert check("healthy_plan.py:smal") == (
            2,
            "1 problem in the target healthy_plan.py:smal\n\n"
            "  BP052 setting  target  healthy_plan.py has no 'smal'; closest name: 'small'\n",
        )

    def test_a_declaration_that_does_not_hold_is_a_finding(self) -> None:
        assert check("misdeclared_plan.py", "healthy_plan.py:small") == (
            1,
            "1 problem in the declaration of Start\n\n"
            "  BP051 declared  scores  float says no placement; write Meta[float], NonTensor[float] or Arg[float]\n"
            f"{FINE}\n",
        )

    def test_the_text_is_printed_as_it_is(self) -> None:
        """No markup, no emoji, no line breaks of the terminal."""
        target = "nowhere_" + "long_" * 40 + ":x:[red]"

        assert check(target)[1].splitlines()[0] == f"1 problem in the target {target}"


@pytest.mark.usefixtures("project")
class TestTargets:
    def test_without_any_it_says_so_and_exits_with_2(self) -> None:
        assert check() == (
            2,
            "1 problem in [tool.batchpact] of pyproject.toml\n\n"
            "  BP052 setting  targets  there are none; name some, as in "
            'trainer.pipelines, or list them in pyproject.toml: targets = ["trainer.pipelines"]\n',
        )

    def test_those_of_the_project_are_checked(self) -> None:
        Path("pyproject.toml").write_text('[tool.batchpact]\ntargets = ["healthy_plan:small"]\n')

        assert check() == (0, FINE + "\n")

    def test_some_of_them_may_be_there_for_other_commands(self) -> None:
        Path("pyproject.toml").write_text(
            '[tool.batchpact]\ntargets = ["empty_plan", "healthy_plan:small", "healthy_plan:Sum"]\n'
        )

        assert check() == (0, FINE + "\n")

    def test_but_not_all(self) -> None:
        Path("pyproject.toml").write_text('[tool.batchpact]\ntargets = ["empty_plan", "healthy_plan:Sum"]\n')

        assert check() == (
            2,
            "1 problem in the target empty_plan, healthy_plan:Sum\n\n"
            "  BP052 setting  target  none of them holds a pipeline; a module that makes one\n",
        )


@pytest.mark.usefixtures("project")
class TestBaseline:
    def test_what_is_known_is_not_reported(self) -> None:
        assert check("broken_plan:broken", "--baseline", "known.json", "--write-baseline") == (
            0,
            "1 known finding written to known.json\n",
        )
        assert Path("known.json").read_text() == (
            '{\n  "version": 1,\n  "findings": [\n'
            '    {"stage": "broken/use", "code": "BP001", "field": "totals", "store": "tensor"}\n'
            "  ]\n}\n"
        )
        assert check("broken_plan:broken", "--baseline", "known.json") == (
            0,
            "pipeline 'broken': 2 stages, 3 fields, no problems\n",
        )

    def test_what_is_new_is(self) -> None:
        Path("known.json").write_text('{"version": 1, "findings": []}')

        assert check("broken_plan:broken", "--baseline", "known.json") == (1, WRONG + "\n")

    def test_what_is_gone_is_said(self) -> None:
        Path("known.json").write_text(
            '{"version": 1, "findings": [{"stage": "small/sum", "code": "BP001", "field": "x"}]}'
        )

        assert check("healthy_plan:small", "--baseline", "known.json") == (
            0,
            f"{FINE}\n1 finding of the baseline no longer there; --write-baseline takes them out\n\n"
            "  BP001  small/sum  x\n",
        )

    def test_a_broken_declaration_is_known_by_nothing(self) -> None:
        code, _ = check("misdeclared_plan", "broken_plan:broken", "--baseline", "known.json", "--write-baseline")

        assert (code, Path("known.json").exists()) == (1, False)

    def test_a_file_that_is_not_there_exits_with_2(self) -> None:
        assert check("broken_plan:broken", "--baseline", "known.json") == (
            2,
            "1 problem in the baseline\n\n"
            "  BP052 setting  known.json  No such file or directory; --write-baseline makes one, "
            "and save_counts for a run\n",
        )

    def test_a_file_to_write_is_named(self) -> None:
        assert check("broken_plan:broken", "--write-baseline") == (
            2,
            "1 problem in the options\n\n"
            "  BP052 setting  --write-baseline  there is no file; "
            "--baseline FILE says where the findings are written\n",
        )


def test_without_a_command_it_shows_the_help() -> None:
    output = CliRunner().invoke(app, []).output

    assert "Data contracts for the batches that travel through an RL post-training loop." in output
    assert "Check pipelines before anything runs" in output


# --- in a process of its own -----------------------------------------------------------------------------------------


BATCHPACT = "from batchpact.contracts.cli import main; main()"


def python(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code with the modules of this process."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_checks_a_file(project: Path) -> None:
    run = python(BATCHPACT, "check", "broken_plan.py:broken")

    assert (run.returncode, run.stdout, run.stderr) == (1, WRONG + "\n", "")


@pytest.mark.usefixtures("project")
def test_a_misspelt_level_in_the_environment_exits_with_2() -> None:
    run = python(BATCHPACT, "check", "healthy_plan.py", BATCHPACT_LEVEL="loud")

    assert (run.returncode, run.stdout, run.stderr) == (
        2,
        "1 problem in the settings\n\n"
        "  BP052 setting  BATCHPACT_LEVEL  'loud' is not known; 'off', 'structure' and 'values' are\n",
        "",
    )


def test_the_help_does_not_import_torch() -> None:
    """It would take a second."""
    heavy = "{'torch', 'tensordict', 'numpy', 'pydantic'}"
    at_the_end = f"import atexit, sys; atexit.register(lambda: print({heavy} & sys.modules.keys()))"
    run = python(f"{at_the_end}; {BATCHPACT}", "--help")

    assert "Data contracts for the batches that travel through an RL post-training loop." in run.stdout
    assert (run.returncode, run.stdout.splitlines()[-1]) == (0, "set()")
