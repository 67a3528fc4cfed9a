"""Lock files: written, read again, read from git, and what is said about broken ones."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from batchpact.contracts.lock.file import Contracts, counted, dump, parse, read, read_revision, write
from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.planned import when
from batchpact.schemas import SettingError, StageSpec, config
from tests.contracts.lock.repositories import commit, git
from tests.contracts.plans import PerRow, PerToken, declare, schema
from tests.contracts.stages import refusal

SCORE = declare("Score", {"responses": PerToken}, {"scores": PerRow})
LOG = declare("Log", {"scores": PerRow})
START = schema("Start", {"responses": PerToken})
INNER = Pipeline("validate", inputs=schema("Scored", {"scores": PerRow}), stages=[LOG])
OUTER = Pipeline(
    "ppo",
    inputs=START,
    stages=[SCORE, when(config("trainer.log"), LOG), when(config("trainer.validate"), INNER)],
    outputs=["scores"],
    always=[~(config("trainer.log") & config("trainer.validate"))],
)


def stages(*specs: StageSpec) -> dict[str, StageSpec]:
    return {spec.qualname: spec for spec in specs}


CONTRACTS = Contracts(
    stages(SCORE.__batchpact__, LOG.__batchpact__), {"trainer.Start": START.__batchpact__.spec}, {"ppo": OUTER.spec}
)
TEXT = """\
{
  "lock_format": 1,
  "pipelines": {
    "ppo": {
      "always": [
        {
          "kind": "not",
          "of": {
            "kind": "all",
            "of": [
              {
                "kind": "test",
                "subject": {"name": "trainer.log", "source": "config"}
              },
              {
                "kind": "test",
                "subject": {"name": "trainer.validate", "source": "config"}
              }
            ]
          }
        }
      ],
      "inputs": {
        "fields": {
          "responses": {
            "places": [
              {"dims": "batch response", "dtype": "float32", "layout": "dense", "placement": "tensor"}
            ]
          }
        },
        "qualname": "tests.contracts.plans.Start"
      },
      "outputs": ["scores"],
      "stages": [
        {"stage": "trainer.Score"},
        {
          "stage": "trainer.Log",
          "when": {
            "kind": "test",
            "subject": {"name": "trainer.log", "source": "config"}
          }
        },
        {
          "inputs": {
            "fields": {
              "scores": {
                "places": [
                  {"dims": "batch", "dtype": "float32", "layout": "dense", "placement": "tensor"}
                ]
              }
            },
            "qualname": "tests.contracts.plans.Scored"
          },
          "name": "validate/inputs",
          "when": {
            "kind": "test",
            "subject": {"name": "trainer.validate", "source": "config"}
          }
        },
        {
          "name": "validate/log",
          "stage": "trainer.Log",
          "when": {
            "kind": "test",
            "subject": {"name": "trainer.validate", "source": "config"}
          }
        }
      ]
    }
  },
  "schemas": {},
  "stages": {
    "trainer.Log": {
      "name": "log",
      "reads": {
        "fields": {
          "scores": {
            "places": [
              {"dims": "batch", "dtype": "float32", "layout": "dense", "placement": "tensor"}
            ]
          }
        },
        "qualname": "tests.contracts.plans.Reads"
      },
      "writes": {"qualname": "tests.contracts.plans.Writes"}
    },
    "trainer.Score": {
      "name": "score",
      "reads": {
        "fields": {
          "responses": {
            "places": [
              {"dims": "batch response", "dtype": "float32", "layout": "dense", "placement": "tensor"}
            ]
          }
        },
        "qualname": "tests.contracts.plans.Reads"
      },
      "writes": {
        "fields": {
          "scores": {
            "places": [
              {"dims": "batch", "dtype": "float32", "layout": "dense", "placement": "tensor"}
            ]
          }
        },
        "qualname": "tests.contracts.plans.Writes"
      }
    }
  }
}
"""


# --- the form ---------------------------------------------------------------------------------------------------------


def test_the_file_is_made_for_git_diffs() -> None:
    """Sorted; what holds only texts and numbers is one line; a stage stands in it once, however often it runs."""
    assert dump(Contracts(CONTRACTS.stages, {}, CONTRACTS.pipelines)) == TEXT


def test_it_is_json_of_any_parser() -> None:
    assert json.loads(TEXT)["pipelines"]["ppo"]["outputs"] == ["scores"]


def test_what_was_written_is_read_again() -> None:
    again = parse(dump(CONTRACTS), "here")

    assert again == CONTRACTS.normal()
    assert dump(again) == dump(CONTRACTS)
    assert again.pipelines["ppo"] == OUTER.spec
    assert counted(again) == {"stage": 2, "schema": 1, "pipeline": 1}


def test_other_text_than_ascii_stays_readable() -> None:
    spec = SCORE.__batchpact__.model_copy(update={"description": "Bewertet, größer als 0 \u2265"})

    assert '"description": "Bewertet, größer als 0 ≥"' in dump(Contracts(stages(spec)))


def test_the_order_of_imports_changes_nothing() -> None:
    shuffled = Contracts(stages(LOG.__batchpact__, SCORE.__batchpact__), {}, CONTRACTS.pipelines)

    assert dump(shuffled) == TEXT


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "batchpact.lock.json")
    write(path, dump(CONTRACTS))

    assert read(path) == CONTRACTS.normal()
    assert os.listdir(tmp_path) == ["batchpact.lock.json"]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "batchpact.lock.json"
    path.mkdir()

    assert refusal(lambda: write(str(path), "x"), SettingError) == (
        f"1 problem in {path}\n\n  BP052 setting  lock file  it cannot be written: Is a directory; "
        "a path in a folder that exists"
    )
    assert os.listdir(tmp_path) == ["batchpact.lock.json"]


def test_there_is_no_file() -> None:
    assert refusal(lambda: read("nowhere.json"), SettingError) == (
        "1 problem in nowhere.json\n\n  BP052 setting  lock file  it cannot be read: No such file or directory; "
        "a file that `batchpact lock` wrote; a git revision is named by --against"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is no JSON: Expecting value: line 1 column 1 (char 0); a file that `batchpact lock` wrote"),
        ("[]", "it has no lock_format; a file that `batchpact lock` wrote"),
        ('{"stages": {}}', "it has no lock_format; a file that `batchpact lock` wrote"),
        (
            TEXT.replace('"lock_format": 1', '"lock_format": 2'),
            "its lock_format is 2; this version of batchpact reads 1; `batchpact lock` writes the file anew",
        ),
        (
            TEXT.replace("  ", "<<<<<<< main\n  ", 1),
            "it holds a merge conflict; `batchpact lock` writes it anew",
        ),
        (
            TEXT.replace('"name": "log",', '"name": "log", "unit": "s",'),
            "unit: Extra inputs are not permitted; a file that this version of batchpact, or an older one, wrote; "
            "`batchpact lock` writes it anew",
        ),
        (
            TEXT.replace('"trainer.Log": {', '"trainer.Other": {'),
            "KeyError: 'trainer.Log'; a file that this version of batchpact, or an older one, wrote; "
            "`batchpact lock` writes it anew",
        ),
        (
            TEXT.replace('"batch response"', '"batch ?response"'),
            "ShapeSyntaxError: '?response' is not supported: '?' lets a size differ between leaves; a batch has one "
            "size for each name; a file that this version of batchpact, or an older one, wrote; `batchpact lock` "
            "writes it anew",
        ),
    ],
)
def test_a_broken_file_is_refused_with_what_is_wrong(text: str, problem: str) -> None:
    assert refusal(lambda: parse(text, "a.json"), SettingError) == (
        f"1 problem in a.json\n\n  BP052 setting  lock file  {problem}"
    )


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\xfe")

    assert "it cannot be read: 'utf-8' codec can't decode" in refusal(
        lambda: read(str(tmp_path / "a.json")), SettingError
    )


# --- git --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose folder `trainer` is the working directory; its lock file is that of `TEXT` in main."""
    git(tmp_path, "init", "--quiet")
    folder = tmp_path / "trainer"
    folder.mkdir()
    (folder / "readme").write_text("")
    commit(tmp_path, "without a lock file")
    git(tmp_path, "tag", "first")
    (folder / "a.json").write_text(TEXT, encoding="utf-8")
    commit(tmp_path, "with one")
    (folder / "a.json").write_text("changed since")
    monkeypatch.chdir(folder)
    return tmp_path


@pytest.mark.usefixtures("repository")
def test_a_file_as_it_is_in_a_revision() -> None:
    assert dump(read_revision("main", "a.json")) == dump(read_revision("HEAD", "./a.json")) == TEXT


def test_the_path_may_be_in_another_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dump(read_revision("main", "../trainer/a.json")) == TEXT
    monkeypatch.chdir(repository)
    assert dump(read_revision("main", "trainer/a.json")) == TEXT
    assert dump(read_revision("main", str(repository / "trainer/a.json"))) == TEXT


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("revision", ["nowhere", "main:trainer", "--help", ""])
def test_git_knows_no_such_revision(revision: str) -> None:
    assert refusal(lambda: read_revision(revision, "a.json"), SettingError) == (
        f"1 problem in a.json in {revision}\n\n  BP052 setting  lock file  git knows no such revision; a branch, a tag "
        "or a commit; in CI the checkout has to fetch it (fetch-depth: 0)"
    )


@pytest.mark.usefixtures("repository")
def test_the_revision_has_no_lock_file() -> None:
    assert refusal(lambda: read_revision("first", "a.json"), SettingError) == (
        "1 problem in a.json in first\n\n  BP052 setting  lock file  that revision has no such file; commit one there "
        "first: `batchpact lock` writes it"
    )


def test_there_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert "lock file  not a git repository" in refusal(lambda: read_revision("main", "a.json"), SettingError)


def test_there_is_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "lock file  git cannot be run: No such file or directory" in refusal(
        lambda: read_revision("main", "a.json"), SettingError
    )
