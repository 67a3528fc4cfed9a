"""Figures of a run: what each stage cost and moved, added up over its calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchpact.contracts.reporting import Event

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(slots=True)
class StageFigures:
    """One stage, added up over its calls; `fields_read` and `fields_written` are those of the last call."""

    calls: int = 0
    seconds: float = 0.0
    seconds_checking: float = 0.0
    fields_read: int = 0
    fields_written: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    violations: int = 0


@dataclass(slots=True)
class Figures:
    """What the stages of a run cost, by name, in the order in which they first ran."""

    stages: dict[str, StageFigures] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Add one call."""
        found = self.stages.setdefault(event.stage, StageFigures())
        found.calls += 1
        found.seconds += event.seconds
        found.seconds_checking += event.seconds_checking
        found.fields_read, found.fields_written = event.fields_read, event.fields_written
        found.bytes_read += event.bytes_read
        found.bytes_written += event.bytes_written
        found.violations += len(event.violations)

    def __iter__(self) -> Iterator[tuple[str, StageFigures]]:
        return iter(self.stages.items())

    def table(self, title: str | None = None) -> Table:
        """The figures as a table for the terminal: times and bytes of one call on average."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("stage", no_wrap=True)
        for column in ("calls", "a call", "contract", "share", "fields", "bytes a call"):
            table.add_column(column, justify="right", no_wrap=True)
        for name, stage in self:
            share = stage.seconds_checking / stage.seconds if stage.seconds else 0.0
            read, written = stage.bytes_read // stage.calls, stage.bytes_written // stage.calls
            table.add_row(
                name,
                str(stage.calls),
                _seconds(stage.seconds / stage.calls),
                _seconds(stage.seconds_checking / stage.calls),
                f"{share:.1%}",
                f"{stage.fields_read} -> {stage.fields_written}",
                f"{_bytes(read)} -> {_bytes(written)}",
            )
        return table


def _seconds(value: float) -> str:
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} us"


def _bytes(value: float) -> str:
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
