"""Annotations, read by the rules by which GitHub's runner reads workflow commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from batchpact.contracts.formats.findings import Document, Finding, Section
from batchpact.contracts.formats.github import SHOWN, as_github, write_summary
from batchpact.contracts.formats.markdown import as_markdown
from tests.contracts.formats.samples import EMPTY, EVERYTHING, NASTY, document, nasty

_COMMAND = re.compile(r"::(?P<command>\w+) (?P<properties>[^:]*)::(?P<data>.*)")


def annotations(found: Document) -> list[tuple[str, dict[str, str], str]]:
    """The commands in an output: a line each, with properties between the first two pairs of colons."""
    commands = []
    for line in as_github(found).split("\n"):
        match = _COMMAND.fullmatch(line)
        if match is not None:
            parts = (part.partition("=") for part in match["properties"].split(","))
            properties = {name: unescaped(value, **{"%3A": ":", "%2C": ","}) for name, _, value in parts}
            commands.append((match["command"], properties, unescaped(match["data"])))
    return commands


def unescaped(text: str, **more: str) -> str:
    for code, sign in {**more, "%0D": "\r", "%0A": "\n", "%25": "%"}.items():
        text = text.replace(code, sign)
    return text


def test_one_annotation_for_each_finding_the_worst_first() -> None:
    assert [(command, told.get("file"), told["title"]) for command, told, _ in annotations(EVERYTHING)] == [
        ("error", "trainer/plan.py", "BP001 missing"),
        ("error", None, "BP051 declared"),
        ("error", None, "field-removed"),
        ("warning", None, "BP005 dtype"),
        ("warning", None, "dtype-widened"),
        ("notice", None, "description-changed"),
    ]


def test_an_annotation_has_its_place() -> None:
    assert annotations(EVERYTHING)[0] == (
        "error",
        {"file": "trainer/plan.py", "line": "12", "col": "5", "title": "BP001 missing"},
        'use: scores: declared f32 "batch"; nobody writes it',
    )


def test_every_sign_arrives_as_it_is() -> None:
    assert annotations(nasty()) == [
        ("error", {"file": "a folder/ö,:%.py", "line": "3", "title": "BP001 missing"}, f"{NASTY}: {NASTY}")
    ]


def test_the_log_says_what_was_looked_at() -> None:
    assert as_github(EMPTY) == "pipeline 'ppo' (1 stage): passed"
    assert as_github(nasty()).split("\n")[0].startswith("a|b `c`")
    assert len(as_github(nasty()).split("\n")) == 2


def many(*findings: tuple[str, int | None]) -> Document:
    """A document of errors of these stages; one without a line has no file."""
    made = [
        Finding(
            rule="BP001",
            title="missing",
            level="error",
            subject=f"{stage}: x{at}",
            message="m",
            file=None if line is None else "a.py",
            line=line,
        )
        for at, (stage, line) in enumerate(findings)
    ]
    return document(Section(subject="pipeline 'ppo'", ok=False, findings=tuple(made)))


def test_the_first_of_each_stage_comes_before_the_second_of_any_and_what_has_no_file_last() -> None:
    found = many(("a", 1), ("a", 2), ("b", None), ("b", 3), ("a", 4), ("c", 5))

    assert [text.partition(":")[0] + told.get("line", "") for _, told, text in annotations(found)] == [
        "a1",
        "c5",
        "a2",
        "b3",
        "a4",
        "b",
    ]


def test_ten_of_a_level_are_shown_and_the_rest_is_counted() -> None:
    found = many(*((f"s{at}", at + 1) for at in range(13)))

    assert len(annotations(found)) == SHOWN == 10
    assert as_github(found).split("\n")[-1] == (
        "batchpact: 3 more of level error; all of them are in the summary of this step"
    )


def test_the_summary_is_added_where_github_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    write_summary(EVERYTHING)

    assert path.read_text(encoding="utf-8") == f"before\n{as_markdown(EVERYTHING)}\n"


def test_elsewhere_there_is_no_summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.chdir(tmp_path)
    write_summary(EVERYTHING)

    assert list(tmp_path.iterdir()) == []
