"""One table for each group at the end of a run: every case beside the case it is measured against, with its goal.

A case says in `benchmark.extra_info` what it is (`what`), what it is compared with (`against`: the name of another
case) and what is wanted (`goal`, such as "<= 2 x" or "< 1 us"). Times vary from machine to machine and run to
run; nothing here fails because of one. The tables of docs/speed.md are those that a run leaves in build/speed.md.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

COLUMNS = ("case", "median", "spread", "ratio", "against", "goal")
PAGE = Path(__file__).parents[2] / "build" / "speed.md"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    session = getattr(terminalreporter.config, "_benchmarksession", None)
    cases = [] if session is None else [case for case in session.benchmarks if case.stats.rounds]
    if not cases:
        return
    groups = {str(group): list(_rows(cases, group)) for group in dict.fromkeys(case.group for case in cases)}
    for group, rows in groups.items():
        table = Table(title=group, title_justify="left")
        for column in COLUMNS:
            table.add_column(column, justify="right" if column in ("median", "spread", "ratio") else "left")
        for row in rows:
            table.add_row(*row)
        terminalreporter.write_line("")
        Console(file=terminalreporter._tw._file, width=150, highlight=False).print(table)
    PAGE.parent.mkdir(exist_ok=True)
    with PAGE.open("a", encoding="utf-8") as page:  # `make bench` has several runs, one for each environment
        page.write("\n".join(_markdown(groups)) + "\n\n")


def _rows(cases: Sequence[Any], group: str) -> Iterator[tuple[str, ...]]:
    """The cases of a group; the spread is that between the quartiles of its rounds, as a part of the median."""
    named = {case.name: case for case in cases}
    for case in (case for case in cases if case.group == group):
        base = named.get(case.extra_info.get("against", ""))
        yield (
            case.extra_info.get("what", case.name),
            _time(case.stats.median),
            f"{case.stats.iqr / case.stats.median:.0%}",
            "" if base is None else _ratio(case.stats.median, base.stats.median),
            "" if base is None else base.extra_info["what"],
            case.extra_info.get("goal", ""),
        )


def _markdown(groups: dict[str, list[tuple[str, ...]]]) -> Iterator[str]:
    """The tables for a page, with the machine."""
    packages = ("torch", "tensordict", "ray", "verl", "TransferQueue")
    found = {distribution.metadata["Name"]: distribution.version for distribution in distributions()}
    installed = ", ".join(f"{name} {found[name]}" for name in packages if name in found)
    yield f"{os.cpu_count()} cores ({_processor()}), Python {platform.python_version()}, {installed}"
    for group, rows in groups.items():
        yield from ("", f"## {group}", "", f"| {' | '.join(COLUMNS)} |", "| --- | ---: | ---: | ---: | --- | --- |")
        yield from (f"| {' | '.join(cell.replace('|', ' or ') for cell in row)} |" for row in rows)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _ratio(time: float, base: float) -> str:
    return f"{time / base:.2f} x" if time >= base else f"{base / time:.1f} x faster"
