"""What our `DataProto` does otherwise than verl on purpose: the tables of `docs/differences.md`, as data."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"


class Difference(NamedTuple):
    """One row of the page.

    Attributes:
        id: the name of the row; its test is `test_` and this, with underscores.
        operation: what it is about.
        verl: what verl 0.9.1 does.
        ours: what batchpact does.
        why: the reason.
    """

    id: str
    operation: str
    verl: str
    ours: str
    why: str


def read(section: str) -> list[Difference]:
    """The rows of all tables of a section, which ends where the next one begins."""
    found = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in found.splitlines() if line.startswith("|")]
    return [Difference(*row) for row in cells if row[0] != "id" and not row[0].startswith("---")]


DIFFERENCES = {row.id: row for row in read("DataProto")}
