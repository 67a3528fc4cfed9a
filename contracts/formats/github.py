"""GitHub's workflow commands: findings as annotations on the changed files of a pull request."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from batchpact.contracts.formats.findings import LEVELS, Document, Finding, Level
from batchpact.contracts.formats.markdown import as_markdown

SHOWN = 10
"""How many annotations of a level GitHub shows for one step."""

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}


def as_github(document: Document) -> str:
    """What was looked at, and one annotation to a line; those come first that matter most, as GitHub shows ten."""
    lines = [_data(report.headline) for report in document.reports]
    hidden = []
    for level in LEVELS:
        ranked = _ranked(finding for finding in document.findings if finding.level == level)
        lines += [_annotation(finding) for finding in ranked[:SHOWN]]
        if len(ranked) > SHOWN:
            hidden.append(f"{len(ranked) - SHOWN} more of level {level}")
    if hidden:
        lines.append(f"batchpact: {' and '.join(hidden)}; all of them are in the summary of this step")
    return "\n".join(lines)


def write_summary(document: Document) -> None:
    """Add the findings as Markdown to the summary of the step, where GitHub runs this."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(as_markdown(document) + "\n")


def _ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that have a place first, and the first of each subject before the second of any."""
    seen: Counter[str] = Counter()
    ranks = []
    for at, finding in enumerate(findings):
        subject = finding.subject.partition(":")[0]
        ranks.append((finding.file is None, seen[subject], at, finding))
        seen[subject] += 1
    return [finding for *_, finding in sorted(ranks, key=lambda rank: rank[:3])]


def _annotation(finding: Finding) -> str:
    parts = {
        "file": finding.file,
        "line": finding.line,
        "col": finding.column,
        "title": finding.label,
    }
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in parts.items() if value is not None)
    return f"::{_COMMANDS[finding.level]} {properties}::{_data(f'{finding.subject}: {finding.message}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
