"""One table at the end of a run: every case beside the case it is measured against, as a ratio, with its goal.

A case says in `benchmark.extra_info` what it is (`what`), what it is compared with (`against`: the name of another
case) and what is wanted (`goal`, such as "<= 2 x" or "< 1 us"). Times vary from machine to machine and run to
run; nothing here fails because of one.
"""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.table import Table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    session = getattr(terminalreporter.config, "_benchmarksession", None)
    cases = [] if session is None else [case for case in session.benchmarks if case.stats.rounds]
    if not cases:
        return
    times = {case.name: case.stats.median for case in cases}
    for group in dict.fromkeys(case.group for case in cases):
        table = Table(title=str(group), title_justify="left")
        for column, justify in (
            ("case", "left"),
            ("median", "right"),
            ("ratio", "right"),
            ("against", "left"),
            ("goal", "left"),
        ):
            table.add_column(column, justify=justify)  # type: ignore[arg-type]
        for case in (case for case in cases if case.group == group):
            against = case.extra_info.get("against", "")
            base = times.get(against)
            table.add_row(
                case.extra_info.get("what", case.name),
                _time(case.stats.median),
                "" if base is None else _ratio(case.stats.median, base),
                "" if base is None else next(c.extra_info["what"] for c in cases if c.name == against),
                case.extra_info.get("goal", ""),
            )
        terminalreporter.write_line("")
        console = Console(file=terminalreporter._tw._file, width=140, highlight=False)
        console.print(table)


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _ratio(time: float, base: float) -> str:
    return f"{time / base:.2f} x" if time >= base else f"{base / time:.1f} x faster"
