"""Findings as Markdown, for a pull request or the summary of a CI step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from batchpact.contracts.formats.findings import LEVELS, Document, Finding, Section

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>|~$&#!]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", "~": "&#126;"}
"""What some readers of Markdown do not let anybody escape otherwise."""


def as_markdown(document: Document) -> str:
    """A heading for each report, and its findings as a table, the worst first."""
    lines = [f"## batchpact {document.command}", ""]
    for report in document.reports:
        lines += _section(report)
    return "\n".join(lines).rstrip() + "\n"


def _section(report: Section) -> Iterator[str]:
    yield f"### {escaped(report.headline)}"
    yield ""
    if report.findings:
        yield "| level | rule | where | what |"
        yield "| --- | --- | --- | --- |"
        yield from map(_row, sorted(report.findings, key=lambda finding: LEVELS.index(finding.level)))
        yield ""


def _row(finding: Finding) -> str:
    line = "" if finding.line is None else f":{finding.line}"
    where = [finding.subject] if finding.file is None else [finding.subject, f"{finding.file}{line}"]
    cells = (finding.level, escaped(finding.label), "<br>".join(map(escaped, where)), escaped(finding.message))
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text that Markdown prints as it is, in one line."""
    return _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), re.sub(r"\s+", " ", text))
