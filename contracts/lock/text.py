"""Changes in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from batchpact.contracts.lock.change import AUDIENCES, Change
from batchpact.contracts.lock.diff import Diff
from batchpact.schemas.text import count, join_names, quoted


def render(diff: Diff) -> str:
    """A headline, what breaks with its reason, what is allowed to, and what breaks nobody."""
    head = f"{count(len(diff.changes), 'change')} from {diff.old} to {diff.new}" if diff.changes else unchanged(diff)
    if diff.changes:
        head += f", {len(diff.breaking) or 'none'} of them breaking"
    allowed = [found for found in diff.changes if found.breaks and found.rule in diff.allowed]
    harmless = [found for found in diff.changes if not found.breaks]
    lines = [head]
    lines += _part("breaking", diff.breaking, reasons=True)
    lines += _part("breaking, and allowed", allowed, reasons=True)
    lines += _part("harmless", harmless, reasons=False)
    fitting = [name for name, errors in diff.pipelines.items() if not errors]
    if diff.breaking and fitting:
        word, verb = ("pipeline", "passes its check") if len(fitting) == 1 else ("pipelines", "pass their checks")
        lines += ["", f"  {word} {quoted(fitting)} {verb}: upgraded as one, nothing in it breaks"]
    return "\n".join(lines)


def unchanged(diff: Diff) -> str:
    """That two versions are the same."""
    return f"no changes from {diff.old} to {diff.new}"


def _part(title: str, changes: Sequence[Change], *, reasons: bool) -> Iterator[str]:
    if not changes:
        return
    width = max(len(found.rule) for found in changes)
    yield ""
    yield f"  {title}"
    for found in changes:
        yield f"    {found.rule:<{width}}  {found.subject}  {what(found)}".rstrip()
        if reasons:
            yield f"    {'':<{width}}  breaks {whom(found)}: {found.why}{advice(found)}"


def what(change: Change) -> str:
    """What was and what is: `f32 -> f64`; long texts are cut."""
    before, after = _short(change.before), _short(change.after)
    if before and after:
        return f"{before} -> {after}"
    return f"was {before}" if before else after


def whom(change: Change) -> str:
    """Whom a change breaks."""
    return join_names([AUDIENCES[audience] for audience in change.breaks])


def advice(change: Change) -> str:
    """Who has to be upgraded first, as the end of a sentence; empty where no order helps."""
    return "" if change.first is None else f"; upgrade {change.first} first"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
