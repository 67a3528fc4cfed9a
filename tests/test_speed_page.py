"""The speed page names every goal that its own tables miss, and none that they reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = (Path(__file__).parent.parent / "docs" / "speed.md").read_text(encoding="utf-8")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def rows(part: str) -> Iterator[list[str]]:
    """The cells of the tables in a part of the page, without their heads."""
    for line in part.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] not in ("case", "---"):
            yield cells


def ratio(text: str) -> float:
    found = float(text.split(" x")[0])
    return 1 / found if text.endswith("faster") else found


def seconds(text: str) -> float:
    number, unit = re.match(r"([\d.]+) (\w+)", text).groups()  # type: ignore[union-attr]
    return float(number) * SECONDS[unit]


def is_missed(median: str, against: str, goal: str) -> bool:
    """Whether a goal, such as `<= 2 x`, `>= 4 x` or `< 1 us`, is not reached."""
    sign, wanted = goal.split(" ", 1)
    if wanted.endswith(" x"):
        bound = float(wanted.removesuffix(" x"))
        return ratio(against) < bound if sign == ">=" else ratio(against) > bound
    return seconds(median) >= seconds(wanted)


def test_every_goal_that_is_missed_is_named_with_its_cause() -> None:
    named, tables = PAGE.split("## Goals that this run misses")[1].split("\n## ", 1)

    missed = [
        [case, goal, against]
        for case, median, _, against, _, goal in rows(tables)
        if goal and is_missed(median, against, goal)
    ]
    assert [row[:3] for row in rows(named)] == missed
    assert all(cause for *_, cause in rows(named))


def test_a_goal_is_missed_where_the_figure_says_so() -> None:
    assert [is_missed("1 us", "1.36 x", "<= 1 x"), is_missed("1 us", "1.3 x faster", "<= 1 x")] == [True, False]
    assert [is_missed("1 us", "1.98 x", ">= 4 x"), is_missed("1 us", "1.2 x faster", ">= 1 x")] == [True, True]
    assert [is_missed("0.89 us", "", "< 1 us"), is_missed("5100.00 ms", "", "< 5 s")] == [False, True]
