"""`[tool.batchpact]`: the targets of a project, and what is said about a wrong table."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchpact.contracts.pyproject import project_targets
from batchpact.schemas import SettingError
from tests.contracts.stages import refusal


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_given_counts_alone() -> None:
    Path("pyproject.toml").write_text("no TOML at all")

    assert project_targets(["a", "b"]) == ["a", "b"]


def test_otherwise_the_project_says_it() -> None:
    Path("pyproject.toml").write_text('[tool.other]\nx = 1\n[tool.batchpact]\ntargets = ["trainer.plans", "a.py:b"]\n')

    assert project_targets() == ["trainer.plans", "a.py:b"]


NONE = (
    "targets  there are none; name some, as in trainer.pipelines, or list them in pyproject.toml: "
    'targets = ["trainer.pipelines"]'
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, NONE),
        ("", NONE),
        ("tool = 1", NONE),
        ("[tool.batchpact]\ntargets = []", NONE),
        ("[tool.batchpact]\ntargets = 'a'", """targets  'a'; a list of texts, as in targets = ["trainer.pipelines"]"""),
        ("[tool.batchpact]\ntargets = [1]", """targets  [1]; a list of texts, as in targets = ["trainer.pipelines"]"""),
        ("[tool.batchpact]\ntarget = ['a']", "target  it is not known; closest name: 'targets'"),
        ("[tool.batchpact]\nstrict = true", "strict  it is not known; 'targets' is"),
        ("[tool]\nbatchpact = 1", "batchpact  1; a table: [tool.batchpact]"),
    ],
)
def test_a_wrong_table_is_refused_with_what_belongs_there(text: str | None, problem: str) -> None:
    if text is not None:
        Path("pyproject.toml").write_text(text)

    assert refusal(project_targets, SettingError) == (
        f"1 problem in [tool.batchpact] of pyproject.toml\n\n  BP052 setting  {problem}"
    )


def test_a_file_that_is_no_toml() -> None:
    Path("pyproject.toml").write_text("[tool.batchpact")

    assert "BP052 setting  pyproject.toml  it cannot be read: " in refusal(project_targets, SettingError)
