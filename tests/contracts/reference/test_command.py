"""`batchpact docs`: what it writes, and that no change of a contract escapes `--check`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from batchpact.contracts.reference.markdown.text import MARK
from tests.contracts.lock.versions import importable

TRAINER = """
    from jaxtyping import Float32
    from pydantic import Field
    from torch import Tensor
    from batchpact.contracts import Pipeline, when
    from batchpact.schemas import BatchSchema, StageSchema, config

    class Start(BatchSchema):
        responses: Float32[Tensor, "batch response"] = Field(description="The tokens.")

    class Score(StageSchema):
        "Score the responses."
        class Reads(BatchSchema):
            responses: Float32[Tensor, "batch response"]
        class Writes(BatchSchema):
            scores: Float32[Tensor, "batch"]

    plan = Pipeline("plan", inputs=Start, stages=[when(config("trainer.score"), Score)])
"""
PAGES = ["conditions.md", "diff-rules.md", "errors.md", "fields.md", "index.md", "policies.md", "stages.md"]


class Shell:
    """A folder with a module `trainer`, and the command line in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.reference = folder / "docs" / "reference"
        self._monkeypatch = monkeypatch
        self.source = TRAINER

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """The exit code and the standard output of `batchpact docs`."""
        with importable(self.source, self._monkeypatch, self.folder):
            result = CliRunner().invoke(app, ["docs", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout

    def files(self) -> dict[str, bytes]:
        found = sorted(path for path in self.reference.rglob("*") if path.is_file())
        return {path.relative_to(self.reference).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    pytest.importorskip("pygraphviz")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.batchpact]\ntargets = ["trainer"]\n')
    return Shell(monkeypatch, tmp_path)


def test_it_writes_every_page_and_finds_them_current(shell: Shell) -> None:
    assert shell() == (0, "docs/reference: 1 stage, 0 schemas, 1 pipeline, 9 files, 9 of them new\n")
    assert list(shell.files()) == [*PAGES[:5], "pipelines/plan.md", "pipelines/plan.svg", *PAGES[5:]]
    assert shell("--check") == (0, "docs/reference: 1 stage, 0 schemas, 1 pipeline, 9 files, up to date\n")


def test_what_is_current_is_written_to_the_byte_as_it_was(shell: Shell) -> None:
    shell()
    first = shell.files()
    assert shell()[1].endswith("0 of them new\n")
    assert shell.files() == first

    for path in shell.reference.rglob("*.*"):
        path.unlink()
    shell()
    assert shell.files() == first


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("Score the responses.", "Score them.", ["pipelines/plan.svg", "stages.md"]),
        ("The tokens.", "Token ids.", ["fields.md"]),
        ('scores: Float32[Tensor, "batch"]', 'scores: Float32[Tensor, "batch response"]', None),
        ("trainer.score", "trainer.reward", None),
        ("when(config(", "when(~config(", None),
        ("scores: F", "marks: F", None),
    ],
    ids=["description", "description of a field", "shape", "key", "condition", "name"],
)
def test_a_change_makes_the_check_fail_until_it_is_written_anew(
    shell: Shell, old: str, new: str, stale: list[str] | None
) -> None:
    shell()
    assert old in TRAINER
    shell.source = TRAINER.replace(old, new)

    code, output = shell("--check")
    head, _, *lines = output.splitlines()
    assert (code, head) == (1, "docs/reference is not what the contracts declare; `batchpact docs` writes it anew")
    found = [line.split()[-1].removeprefix("docs/reference/") for line in lines]
    assert found == stale if stale is not None else {"stages.md", "pipelines/plan.svg"} <= set(found)

    before = shell.files()
    shell()
    assert {path for path, text in shell.files().items() if before[path] != text} == set(found)
    assert shell("--check")[0] == 0


def test_files_that_are_missing_stale_or_left_over_are_told_apart(shell: Shell) -> None:
    shell()
    (shell.reference / "fields.md").write_text("edited")
    (shell.reference / "pipelines" / "plan.svg").unlink()
    (shell.reference / "pipelines" / "old.md").write_text(f"{MARK}\n\n# old\n")
    (shell.reference / "own.md").write_text("# Written by somebody\n")

    assert shell("--check") == (
        1,
        "docs/reference is not what the contracts declare; `batchpact docs` writes it anew\n\n"
        "  stale      docs/reference/fields.md\n"
        "  missing    docs/reference/pipelines/plan.svg\n"
        "  left over  docs/reference/pipelines/old.md\n",
    )
    assert shell()[0] == 0
    assert not (shell.reference / "pipelines" / "old.md").exists()
    assert (shell.reference / "own.md").read_text() == "# Written by somebody\n"
    assert shell("--check")[0] == 0


def test_the_check_needs_no_graphviz(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell()
    monkeypatch.setitem(sys.modules, "pygraphviz", None)

    assert shell("--check")[0] == 0
    assert shell()[0] == 0  # nothing has to be drawn anew
    (shell.reference / "pipelines" / "plan.svg").unlink()
    code, output = shell()
    assert code == 2
    assert "pip install 'batchpact[docs]'" in output


def test_the_page_to_explore_is_written_alone_and_is_called_after_the_project(shell: Shell) -> None:
    code, output = shell("--page", "out/contracts.html")
    text = (shell.folder / "out" / "contracts.html").read_text(encoding="utf-8")
    told = f"1 stage, 0 schemas, 1 pipeline, {len(text.encode()) / 1e6:.1f} MB"
    assert (code, output) == (0, f"out/contracts.html: {told}\n")
    assert f"<title>{shell.folder.name}</title>" in text
    assert not shell.reference.exists()

    (shell.folder / "pyproject.toml").write_text('[project]\nname = "my-trainer"\n')
    shell("trainer", "--page", "contracts.html")
    assert "<title>my-trainer</title>" in (shell.folder / "contracts.html").read_text(encoding="utf-8")


def test_a_page_to_explore_is_not_checked(shell: Shell) -> None:
    code, output = shell("--check", "--page", "contracts.html")

    assert code == 2
    assert "it is about the Markdown pages; leave it out" in output
    assert not (shell.folder / "contracts.html").exists()


def test_the_findings_have_every_format(shell: Shell) -> None:
    shell()
    (shell.reference / "fields.md").unlink()

    code, output = shell("--check", "--format", "json")
    document = json.loads(output)
    assert (code, document["command"], document["ok"]) == (1, "docs", False)
    [finding] = document["reports"][0]["findings"]
    assert (finding["rule"], finding["file"], finding["message"]) == (
        "BP081",
        "docs/reference/fields.md",
        "it is missing; `batchpact docs` writes it anew",
    )


def test_a_folder_and_targets_may_be_named(shell: Shell) -> None:
    assert shell("trainer:Score", "--output", "site") == (
        0,
        "site: 1 stage, 0 schemas, 0 pipelines, 7 files, 7 of them new\n",
    )
    assert "It is in no pipeline." in (shell.folder / "site" / "stages.md").read_text()
    assert shell("nowhere")[0] == 2
    (shell.folder / "file").write_text("")
    assert shell("--output", "file")[0] == 2
