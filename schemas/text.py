"""Violations in words, for a person at three in the morning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from batchpact.schemas.catalogue import CODES
from batchpact.schemas.violations import DimSizes, Violation

T = TypeVar("T")

_SHOWN = 40
_LISTED = 6
_FIRST_ROWS = 3


def quoted(names: Iterable[str]) -> str:
    """`'a', 'b' and 'c'`; long lists are cut with their count."""
    return join_names([f"'{name}'" for name in names])


def join_names(names: Sequence[str], limit: int = _LISTED) -> str:
    """`a, b and c`; beyond `limit` the rest is counted."""
    if len(names) > limit or len(names) < 2:
        return listed(names, limit)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def listed(items: Sequence[T], limit: int = _LISTED, name: Callable[[T], str] = str) -> str:
    """`0, 4, 7`; beyond `limit` the rest is counted: `0, 4, 7 and 2 more`. `name` says how an item is called."""
    shown = ", ".join(map(name, items[:limit]))
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def count(number: int, noun: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed_rows(rows: Sequence[int], name: Callable[[int], str] = str) -> str:
    """`row 3`, `rows 0, 4, 7 and 2 more`; `name` says how a row is called."""
    return f"{'row' if len(rows) == 1 else 'rows'} {listed(rows, _FIRST_ROWS, name)}"


def by_kind(kinds: Iterable[tuple[int, str]], named: Callable[[Sequence[int]], str]) -> str:
    """Which of several have which kind: `f32[3] in rows 0, 2, f64[3] in row 1`; `named` says numbers in words."""
    having: dict[str, list[int]] = {}
    for at, kind in kinds:
        having.setdefault(kind, []).append(at)
    return ", ".join(f"{kind} in {named(numbers)}" for kind, numbers in having.items())


def sentence(violation: Violation) -> str:
    """One violation without its code and field."""
    form = CODES[violation.code].form
    text = form.format(expected=violation.expected, actual=violation.actual).strip("; ")
    return f"{text}; {violation.hint}" if violation.hint else text


def render(subject: str, violations: Sequence[Violation], dims: Sequence[DimSizes] = ()) -> str:
    """The whole message: a headline, a line for each violation and, where sizes matter, the dims that were seen."""
    shown = violations[:_SHOWN]
    title_width = max((len(CODES[v.code].title) for v in shown), default=0)
    field_width = max((len(v.field) for v in shown), default=0)
    lines = [f"{count(len(violations), 'problem')} {subject}", ""]
    lines += [
        f"  {v.code} {CODES[v.code].title:<{title_width}}  {v.field:<{field_width}}  {sentence(v)}".rstrip()
        for v in shown
    ]
    if len(violations) > len(shown):
        lines.append(f"  ... and {len(violations) - len(shown)} more")
    if dims:
        lines += ["", "  dims  " + "  ".join(_dim(entry) for entry in dims)]
    return "\n".join(lines)


def _dim(entry: DimSizes) -> str:
    sizes = " ".join(f"{size} ({listed(fields)})" for size, fields in entry.sizes)
    return f"{entry.name}={sizes}"
