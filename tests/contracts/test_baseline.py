"""The file of known findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batchpact.contracts.baseline import Key, read_baseline, write_baseline
from batchpact.contracts.lint.linter import Linted, lint
from batchpact.contracts.lint.stages import stages_of
from batchpact.schemas import SettingError
from tests.contracts.lint.support import line, module, reading, undeclared

READS_Z = 'data.batch["z"]'
READS_ALSO_W = 'len(data)\ndata.batch["z"]\ndata.meta_info["w"]'


def linted(source: str, folder: Path, *known: Key) -> tuple[Linted, str]:
    """What is found beyond the baseline, and the module's name, which is another one each time."""
    with module(source, folder) as made:
        renamed = frozenset(Key(f"{made.__name__}.compute", key.code, key.field, key.store) for key in known)
        return lint(stages_of(made.__name__), known=renamed), made.__name__


def test_a_finding_is_known_by_nothing_that_moves_with_its_line(tmp_path: Path) -> None:
    found, name = linted(reading(READS_ALSO_W), tmp_path)

    assert found.keys == (Key(f"{name}.compute", "BP071", "z", "tensor"), Key(f"{name}.compute", "BP071", "w", "meta"))


def test_what_is_known_is_not_reported_and_what_is_new_is(tmp_path: Path) -> None:
    found, _ = linted(reading(READS_ALSO_W), tmp_path, Key("", "BP071", "z", "tensor"))

    assert [line(finding) for finding in found.report.findings] == [undeclared("5:20", "read from meta_info", "w")]
    assert (len(found.keys), found.gone) == (2, ())


def test_what_is_known_and_no_longer_there_is_said(tmp_path: Path) -> None:
    gone = Key("", "BP074", "x")
    found, name = linted(reading(READS_Z), tmp_path, Key("", "BP071", "z", "tensor"), gone)

    assert found.report.ok
    assert found.gone == (Key(f"{name}.compute", "BP074", "x"),)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    keys = [Key("b.f", "BP071", "z", "tensor"), Key("a.f", "BP074", "x"), Key("a.f", "BP074", "x")]
    path = tmp_path / "baseline.json"
    write_baseline(str(path), keys)

    assert read_baseline(str(path)) == frozenset(keys)
    assert path.read_text() == (
        '{\n  "version": 1,\n  "findings": [\n'
        '    {"stage": "a.f", "code": "BP074", "field": "x"},\n'
        '    {"stage": "b.f", "code": "BP071", "field": "z", "store": "tensor"}\n'
        "  ]\n}\n"
    )


def test_nothing_known_is_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(str(path), [])

    assert json.loads(path.read_text()) == {"version": 1, "findings": []}
    assert read_baseline(str(path)) == frozenset()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "it is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1); "
         "--write-baseline makes one, and save_counts for a run"),
        ("[]", 'it is no baseline of this version; {"version": 1, "findings": [...]}'),
        ('{"version": 2, "findings": []}', 'it is no baseline of this version; {"version": 1, "findings": [...]}'),
        ('{"version": 1, "findings": [{"stage": "a", "code": "b", "field": "c"}, 3]}',
         "finding 2 is none; stage, code and field, and perhaps store"),
        ('{"version": 1, "findings": [{"stage": "a", "code": "b"}]}',
         "finding 1 is none; stage, code and field, and perhaps store"),
        ('{"version": 1, "findings": [{"stage": "a", "code": "b", "field": "c", "line": 3}]}',
         "finding 1 is none; stage, code and field, and perhaps store"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)

    with pytest.raises(SettingError) as caught:
        read_baseline(str(path))
    assert str(caught.value) == f"1 problem in the baseline\n\n  BP052 setting  {path}  {problem}"


def test_a_file_that_nests_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text("[" * 100_000)

    with pytest.raises(SettingError, match="it is no JSON"):
        read_baseline(str(path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError) as caught:
        read_baseline(str(tmp_path / "nowhere.json"))

    (violation,) = caught.value.violations
    assert violation.actual == "No such file or directory"
    assert violation.expected == "--write-baseline makes one, and save_counts for a run"


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError) as caught:
        write_baseline(str(tmp_path), [])

    (violation,) = caught.value.violations
    assert (violation.actual, violation.expected) == ("Is a directory", "a file that can be written")
