"""Figures of a run: what each stage cost, added up over its calls, and the table of them."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from batchpact.contracts import Event, Figures
from batchpact.contracts.figures import StageFigures
from batchpact.schemas import Violation


def event(stage: str, *, seconds: float, checking: float, read: int, written: int, found: int = 0) -> Event:
    violations = tuple(Violation(code="BP001", field=f"f{at}") for at in range(found))
    return Event(stage, 1, seconds, checking, 4, 2, read, written, violations)


def figures() -> Figures:
    made = Figures()
    made.add(event("generate", seconds=1.25, checking=0.0005, read=1000, written=2_500_000))
    made.add(event("score", seconds=0.002, checking=0.0005, read=999, written=0, found=2))
    made.add(event("generate", seconds=0.75, checking=0.0005, read=500, written=2_500_000_000, found=1))
    return made


def test_calls_of_a_stage_are_added_up() -> None:
    assert dict(figures()) == {
        "generate": StageFigures(2, 2.0, 0.001, 4, 2, 1500, 2_502_500_000, 1),
        "score": StageFigures(1, 0.002, 0.0005, 4, 2, 999, 0, 2),
    }


def test_the_table_has_a_row_for_each_stage_in_the_order_of_their_first_calls() -> None:
    output = StringIO()
    Console(file=output, width=100).print(figures().table("one step"))

    lines = [" ".join(line.split()) for line in output.getvalue().splitlines() if line.strip(" ─")]
    assert lines == [
        "one step",
        "stage calls a call contract share fields bytes a call",
        "generate 2 1.00 s 500 us 0.1% 4 -> 2 750 B -> 1.3 GB",
        "score 1 2.0 ms 500 us 25.0% 4 -> 2 999 B -> 0 B",
    ]


def test_a_table_without_stages_and_a_stage_without_time_can_be_printed() -> None:
    made = Figures()
    assert made.table().row_count == 0

    made.add(event("idle", seconds=0.0, checking=0.0, read=1400, written=2_600_000))

    assert [list(column.cells) for column in made.table().columns] == [
        ["idle"],
        ["1"],
        ["0 us"],
        ["0 us"],
        ["0.0%"],
        ["4 -> 2"],
        ["1 kB -> 3 MB"],
    ]
