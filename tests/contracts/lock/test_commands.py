"""`batchpact lock` and `batchpact diff`: texts, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from batchpact.contracts.lock.file import read
from tests.contracts.lock.repositories import commit, git
from tests.contracts.lock.versions import importable

LOCK = "batchpact.lock.json"
OLD = """
    from jaxtyping import Float, Float32
    from torch import Tensor
    from batchpact.schemas import BatchSchema, StageSchema

    class Score(StageSchema):
        class Reads(BatchSchema):
            responses: Float32[Tensor, "batch response"]
        class Writes(BatchSchema):
            scores: Float32[Tensor, "batch"]
"""
DESCRIBED = OLD.replace("class Score(StageSchema):", 'class Score(StageSchema):\n        "Score."')
WIDER = OLD.replace("scores: Float32", "scores: Float")

CHANGE = "    dtype-widened  stage 'score' writes.scores  f32 -> float\n"
WHY = "                   breaks new data with old readers: old readers accept fewer dtypes; upgrade readers first\n"


class Shell:
    """A folder with a module `trainer`, and the command line in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self.source = OLD

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """The exit code and the standard output."""
        with importable(self.source, self._monkeypatch, self.folder):
            result = CliRunner().invoke(app, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.batchpact]\ntargets = ["trainer"]\n')
    return Shell(monkeypatch, tmp_path)


# --- lock -------------------------------------------------------------------------------------------------------------


def test_the_lock_file_of_the_project_is_written(shell: Shell) -> None:
    assert shell("lock") == (0, f"{LOCK}: 1 stage, 0 schemas, 0 pipelines, written\n")
    assert list(read(LOCK).stages) == ["trainer.Score"]


def test_targets_and_the_file_can_be_named(shell: Shell) -> None:
    assert shell("lock", "batchpact.schemas.rl.grpo:UseScores", "trainer", "--file", "a.json") == (
        0,
        "a.json: 2 stages, 0 schemas, 0 pipelines, written\n",
    )


def test_writing_it_again_changes_nothing(shell: Shell) -> None:
    shell("lock")
    before = Path(LOCK).read_bytes()
    shell("lock")

    assert Path(LOCK).read_bytes() == before


def test_there_is_nothing_of_this_machine_in_it(shell: Shell) -> None:
    shell("lock", "trainer", "batchpact.schemas.rl.grpo")

    assert str(shell.folder) not in Path(LOCK).read_text()


def test_a_current_file_passes_the_check(shell: Shell) -> None:
    shell("lock")

    assert shell("lock", "--check") == (0, f"{LOCK}: 1 stage, 0 schemas, 0 pipelines, up to date\n")


def test_drift_fails_the_check_and_is_told(shell: Shell) -> None:
    shell("lock")
    before = Path(LOCK).read_bytes()
    shell.source = WIDER

    assert shell("lock", "--check") == (
        1,
        f"{LOCK} is not what the code declares; `batchpact lock` writes it anew\n"
        f"1 change from {LOCK} to the code, 1 of them breaking\n\n  breaking\n{CHANGE}{WHY}",
    )
    assert Path(LOCK).read_bytes() == before


def test_drift_of_words_alone_fails_it_too(shell: Shell) -> None:
    shell("lock")
    shell.source = DESCRIBED

    assert shell("lock", "--check") == (
        1,
        f"{LOCK} is not what the code declares; `batchpact lock` writes it anew\n"
        f"1 change from {LOCK} to the code, none of them breaking\n\n"
        "  harmless\n    description-changed  stage 'score'  Score.\n",
    )


def test_there_is_no_file_to_check(shell: Shell) -> None:
    code, text = shell("lock", "--check")

    assert (code, text.splitlines()[0]) == (2, f"1 problem in {LOCK}")


def test_a_declaration_that_does_not_hold_is_a_finding(shell: Shell) -> None:
    shell.source = OLD.replace('scores: Float32[Tensor, "batch"]', "scores: float")

    assert shell("lock") == (
        1,
        "1 problem in the declaration of Score.Writes\n\n  BP051 declared  scores  float says no placement; write "
        "Meta[float], NonTensor[float] or Arg[float]\n",
    )
    assert not Path(LOCK).exists()


def test_a_module_that_cannot_be_imported_is_the_end(shell: Shell) -> None:
    shell.source = "1 / 0\n"
    code, text = shell("lock")

    assert (code, text.splitlines()[-1]) == (2, "a target could not be imported")
    assert "ZeroDivisionError" in text


# --- diff -------------------------------------------------------------------------------------------------------------


def test_no_changes(shell: Shell) -> None:
    shell("lock")

    assert shell("diff") == (0, f"no changes from {LOCK} to the code\n")


def test_a_change_that_breaks_nobody(shell: Shell) -> None:
    shell("lock")
    shell.source = DESCRIBED

    assert shell("diff") == (
        0,
        f"1 change from {LOCK} to the code, none of them breaking\n\n"
        "  harmless\n    description-changed  stage 'score'  Score.\n",
    )


def test_a_change_that_breaks_somebody(shell: Shell) -> None:
    shell("lock")
    shell.source = WIDER

    assert shell("diff") == (
        1,
        f"1 change from {LOCK} to the code, 1 of them breaking\n\n  breaking\n{CHANGE}{WHY}",
    )


def test_it_may_be_allowed(shell: Shell) -> None:
    shell("lock")
    shell.source = WIDER

    assert shell("diff", "--allow", "dtype-widened") == (
        0,
        f"1 change from {LOCK} to the code, none of them breaking\n\n  breaking, and allowed\n{CHANGE}{WHY}",
    )
    assert shell("diff", "--allow", "dtype-changed")[0] == 2


def test_two_files_are_compared_without_any_code(shell: Shell) -> None:
    shell("lock", "--file", "old.json")
    shell.source = WIDER
    shell("lock", "--file", "new.json")
    shell.source = "1 / 0\n"

    assert shell("diff", "old.json", "new.json") == (
        1,
        f"1 change from old.json to new.json, 1 of them breaking\n\n  breaking\n{CHANGE}{WHY}",
    )
    assert shell("diff", "new.json", "old.json") == (
        0,
        "1 change from new.json to old.json, none of them breaking\n\n"
        "  harmless\n    dtype-narrowed  stage 'score' writes.scores  float -> f32\n",
    )


def test_the_code_may_have_other_targets(shell: Shell) -> None:
    shell("lock")

    assert shell("diff", LOCK, "--target", "trainer:Score", "--target", "trainer") == (
        0,
        f"no changes from {LOCK} to the code\n",
    )


def test_a_lock_file_and_targets_are_two_new_versions(shell: Shell) -> None:
    shell("lock")
    code, text = shell("diff", LOCK, LOCK, "--target", "trainer")

    assert (code, text) == (
        2,
        f"1 problem in {LOCK}\n\n  BP052 setting  lock file  there are targets, too; the new version is a lock file or "
        "the code\n",
    )


@pytest.fixture
def repository(shell: Shell) -> Shell:
    """The lock file of `OLD` is committed in main, and the code is of another version since."""
    shell("lock")
    git(shell.folder, "init", "--quiet")
    commit(shell.folder, "locked")
    shell.source = WIDER
    return shell


def test_against_a_revision_the_old_code_is_not_imported(repository: Shell) -> None:
    repository("lock")  # what is in the working tree does not count

    assert repository("diff", "--against", "main") == (
        1,
        f"1 change from {LOCK} in main to the code, 1 of them breaking\n\n  breaking\n{CHANGE}{WHY}",
    )
    assert repository("diff", LOCK, LOCK, "--against", "HEAD")[1].startswith(f"1 change from {LOCK} in HEAD to {LOCK},")


def test_a_revision_without_a_lock_file(repository: Shell) -> None:
    assert repository("diff", "--against", "main", "--file", "other.json") == (
        2,
        "1 problem in other.json in main\n\n  BP052 setting  lock file  that revision has no such file; commit one "
        "there first: `batchpact lock` writes it\n",
    )


# --- formats ----------------------------------------------------------------------------------------------------------


def test_a_finding_has_its_place_in_the_code(repository: Shell) -> None:
    code, text = repository("diff", "--format", "json")
    document = json.loads(text)
    [finding] = document["reports"][0]["findings"]

    assert (code, document["command"], document["ok"]) == (1, "diff", False)
    assert (finding["rule"], finding["level"], finding["file"], finding["line"]) == (
        "dtype-widened",
        "error",
        "trainer.py",
        10,
    )
    assert finding["change"]["breaks"] == ["new data"]


def test_what_is_gone_from_the_code_stands_in_the_lock_file(repository: Shell) -> None:
    repository.source = OLD.replace("Score", "Rate").replace("responses", "tokens")
    _, text = repository("diff", "--format", "github")

    assert f"::error file={LOCK},title=stage-removed::stage 'score': was trainer.Score; " in text


def test_drift_is_a_warning_where_nobody_breaks(repository: Shell) -> None:
    repository.source = DESCRIBED

    assert repository("lock", "--check", "--format", "github") == (
        1,
        f"the code against {LOCK} (1 change, none of them breaking): failed\n"
        "::warning file=trainer.py,line=6,title=description-changed::stage 'score': Score.\n",
    )


def test_what_was_written_is_told_in_every_format(repository: Shell) -> None:
    assert json.loads(repository("lock", "--format", "json")[1]) == {
        "version": 1,
        "command": "lock",
        "ok": True,
        "reports": [
            {"subject": LOCK, "checked": "1 stage, 0 schemas, 0 pipelines", "ok": True, "findings": []},
        ],
    }
