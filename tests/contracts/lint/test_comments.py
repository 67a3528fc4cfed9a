"""Comments that silence findings on their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.lint.support import found, reading, undeclared


def idle(place: str, code: str = "ignore") -> str:
    """A comment, or a code in it, that silences nothing."""
    actual = "nothing in this line is found" if code == "ignore" else f"nothing in this line is {code}"
    return f"{place} BP077 {code} {actual}; a comment that silences something; delete it"


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# batchpact: ignore[BP071]", []),
        ("# batchpact: ignore", []),
        ("#batchpact:ignore[ BP071 ]", []),
        ("# noqa  # batchpact: ignore[BP071]  # because of the old name", []),
        ("# batchpact: ignore[BP072]", [undeclared("3:16", "read from batch"), idle("3:22", "BP072")]),
        ("# batchpact: ignore[BP071, BP072]", [idle("3:22", "BP072")]),
        ("# batchpact: keep", [undeclared("3:16", "read from batch")]),
        ('; "# batchpact: ignore"', [undeclared("3:16", "read from batch")]),
    ],
)
def test_a_comment_silences_its_line(comment: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(f'data.batch["z"]  {comment}'), tmp_path) == expected


def test_it_silences_no_other_line(tmp_path: Path) -> None:
    body = 'data.batch["z"]  # batchpact: ignore\ndata.batch["z"]\n# batchpact: ignore[BP071]\ndata.batch["z"]'

    assert found(reading(body), tmp_path) == [
        undeclared("4:16", "read from batch"),
        idle("5:5", "BP071"),
        undeclared("6:16", "read from batch"),
    ]


def test_it_silences_the_line_of_the_name_in_a_call_over_several_lines(tmp_path: Path) -> None:
    body = 'data.select(\n    batch_keys=[\n        "x",\n        "z",  # batchpact: ignore[BP071]\n    ]\n)'

    assert found(reading(body), tmp_path) == []


def test_it_silences_what_is_said_of_the_whole_stage_where_the_function_is_defined(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):  # batchpact: ignore[BP074]
            return One.Writes(y=1)
    """
    assert found(source, tmp_path) == []


def test_it_silences_what_a_helper_does(tmp_path: Path) -> None:
    source = reading("take(data)") + 'def take(data):\n    data.batch["z"]  # batchpact: ignore\n'

    assert found(source, tmp_path) == []


def test_one_that_nothing_was_read_of_is_left_alone(tmp_path: Path) -> None:
    source = reading("pass") + "def never_called(data):\n    pass  # batchpact: ignore\n"

    assert found(source, tmp_path) == []


def test_what_cannot_be_told_is_silenced_whether_it_is_asked_for_or_not(tmp_path: Path) -> None:
    source = reading("elsewhere(data)  # batchpact: ignore[BP076]")

    assert found(source, tmp_path) == []
    assert found(source, tmp_path, undecidable=True) == []
