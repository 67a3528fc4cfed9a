"""Findings as Markdown, for a pull request or the summary of a CI step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from batchpact.contracts.formats.findings import Document, Finding, Section

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$&#!])")


def as_markdown(document: Document) -> str:
    """A heading for each report, and its findings as a table."""
    lines = [f"## batchpact {document.command}", ""]
    for report in document.reports:
        lines += _section(report)
    return "\n".join(lines).rstrip() + "\n"


def _section(report: Section) -> Iterator[str]:
    mark = "passed" if report.ok else "failed"
    checked = f" ({report.checked})" if report.checked else ""
    yield f"**{mark}**: {_escaped(report.subject + checked)}"
    yield ""
    if report.findings:
        yield "| level | rule | where | what |"
        yield "| --- | --- | --- | --- |"
        yield from map(_row, report.findings)
        yield ""


def _row(finding: Finding) -> str:
    place = (
        "" if finding.file is None else _escaped(finding.file + ("" if finding.line is None else f":{finding.line}"))
    )
    where = "<br>".join(part for part in (_escaped(finding.subject), place) if part)
    rule = _escaped(f"{finding.rule} {finding.title}" if finding.rule[:2].isupper() else finding.rule)
    return f"| {finding.level} | {rule} | {where} | {_escaped(finding.message)} |"


def _escaped(text: str) -> str:
    """Text that Markdown prints as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
