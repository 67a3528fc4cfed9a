"""`batchpact lint`: texts, formats and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app

IMPORTS = "from tests.contracts.lint.declared import *\n"
HEALTHY = IMPORTS + "@stage\ndef healthy(batch: One.Reads) -> One.Writes:\n    return One.Writes(y=batch.x)\n"
BROKEN = IMPORTS + "@stage\ndef broken(batch: One.Reads) -> One.Writes:\n    return One.Writes(y=batch.x + batch.z)\n"
WASTEFUL = IMPORTS + "@stage\ndef wasteful(batch: One.Reads) -> One.Writes:\n    return One.Writes(y=1)\n"
OPAQUE = IMPORTS + "@stage(One)\ndef hidden(data):\n    return elsewhere(data)\n"
MISDECLARED = IMPORTS + "class Wrong(BatchSchema):\n    x: float\n"

UNDECLARED = (
    "lint_broken.py:4:41  BP071 reads  broken: z  read; One.Reads does not declare it; add z to it, or leave it alone"
)
UNUSED = (
    "lint_wasteful.py:3:5  BP074 unused  wasteful: x  nothing uses it; One.Reads declares it; use it, or take it out: "
    "what is declared is shipped"
)
FINE = "the code of 'healthy': 1 file, no problems\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module for each kind of stage, which is also the working directory."""
    files = {"healthy": HEALTHY, "broken": BROKEN, "wasteful": WASTEFUL, "opaque": OPAQUE, "misdeclared": MISDECLARED}
    for name, text in files.items():
        (tmp_path / f"lint_{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("lint_")]:
        del sys.modules[name]


def run(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of `batchpact lint`."""
    result = CliRunner().invoke(app, ["lint", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_a_healthy_stage_exits_with_0() -> None:
    assert run("lint_healthy.py") == (0, FINE)


def test_an_error_exits_with_1() -> None:
    assert run("lint_broken.py:broken") == (1, f"1 problem in the code of 'broken' (1 file)\n\n  {UNDECLARED}\n")


def test_warnings_alone_exit_with_0() -> None:
    assert run("lint_wasteful") == (0, f"1 problem in the code of 'wasteful' (1 file)\n\n  {UNUSED}\n")


def test_all_targets_are_one_report() -> None:
    code, output = run("lint_wasteful", "lint_healthy.py", "lint_broken")

    assert code == 1
    assert output == f"2 problems in the code of 3 stages (3 files)\n\n  {UNDECLARED}\n  {UNUSED}\n"


def test_the_targets_of_the_project_are_linted(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.batchpact]\ntargets = ["lint_healthy"]\n')

    assert run() == (0, FINE)


def test_a_target_that_cannot_be_used_exits_with_2() -> None:
    assert run("lint_healthy:One") == (
        2,
        "1 problem in the target lint_healthy:One\n\n"
        "  BP052 setting  target  no stage of it has code; a function under @stage, a pipeline of such functions, or a "
        "module that has some\n",
    )


def test_a_declaration_that_does_not_hold_is_a_finding_too() -> None:
    code, output = run("lint_misdeclared", "lint_healthy")

    assert code == 1
    assert output.startswith("1 problem in the declaration of Wrong\n")
    assert output.endswith(FINE)


def test_what_cannot_be_told_is_reported_on_request() -> None:
    assert run("lint_opaque") == (0, "the code of 'hidden': 1 file, no problems\n")
    assert run("lint_opaque", "--undecidable") == (
        0,
        "1 problem in the code of 'hidden' (1 file)\n\n  lint_opaque.py:4:12  BP076 opaque  hidden: batch  given to a "
        "function, whose code is not read; which fields, cannot be told\n",
    )


class TestBaseline:
    def test_what_is_known_is_not_reported(self) -> None:
        written = run("lint_broken", "--baseline", "known.json", "--write-baseline")

        assert written == (0, "1 known finding written to known.json\n")
        assert run("lint_broken", "--baseline", "known.json") == (
            0,
            "the code of 'broken': 1 file, no problems\n",
        )

    def test_what_is_new_is_reported(self) -> None:
        run("lint_wasteful", "--baseline", "known.json", "--write-baseline")

        code, output = run("lint_broken", "lint_wasteful", "--baseline", "known.json")
        assert (code, output) == (1, f"1 problem in the code of 2 stages (2 files)\n\n  {UNDECLARED}\n")

    def test_what_is_gone_is_said(self) -> None:
        run("lint_wasteful", "--baseline", "known.json", "--write-baseline")

        assert run("lint_healthy", "--baseline", "known.json") == (
            0,
            f"{FINE}1 finding of the baseline no longer there; --write-baseline takes them out\n\n"
            "  BP074  lint_wasteful.wasteful  x\n",
        )

    def test_one_that_is_not_there_exits_with_2(self) -> None:
        assert run("lint_healthy", "--baseline", "nowhere.json") == (
            2,
            "1 problem in the baseline\n\n"
            "  BP052 setting  nowhere.json  No such file or directory; --write-baseline makes one, "
            "and save_counts for a run\n",
        )

    def test_to_write_one_it_needs_a_name(self) -> None:
        assert run("lint_healthy", "--write-baseline") == (
            2,
            "1 problem in the options\n\n"
            "  BP052 setting  --write-baseline  there is no file; --baseline FILE says where the findings are "
            "written\n",
        )


def test_as_json_it_is_one_document() -> None:
    code, output = run("lint_broken", "--format", "json")
    document = json.loads(output)

    (report,) = document["reports"]
    (finding,) = report["findings"]
    assert (code, document["command"], document["ok"]) == (1, "lint", False)
    assert {key: finding[key] for key in ("rule", "file", "line", "column", "level")} == {
        "rule": "BP071",
        "file": "lint_broken.py",
        "line": 4,
        "column": 41,
        "level": "error",
    }


def test_as_annotations_for_github() -> None:
    assert run("lint_broken", "--format", "github") == (
        1,
        "the code of 'broken' (1 file): failed\n"
        "::error file=lint_broken.py,line=4,col=41,title=BP071 reads::"
        "broken: z: read; One.Reads does not declare it; add z to it, or leave it alone\n",
    )


def test_as_sarif_it_points_at_the_column() -> None:
    _, output = run("lint_broken", "--format", "sarif")

    (result,) = json.loads(output)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "lint_broken.py"}, "region": {"startLine": 4, "startColumn": 41}}
