"""What a command found, in the one form from which every format is printed. As JSON, this is the JSON format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from batchpact.contracts.lock.change import Change
from batchpact.contracts.lock.diff import Diff
from batchpact.contracts.lock.rules import RULES
from batchpact.contracts.lock.text import advice, what, whom
from batchpact.contracts.report import Report
from batchpact.schemas.catalogue import CODES
from batchpact.schemas.errors import ContractError
from batchpact.schemas.record import Record
from batchpact.schemas.text import count, sentence
from batchpact.schemas.violations import Violation

Level: TypeAlias = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
"""Every level, the worst first."""


class Finding(Record):
    """One problem, or one change.

    `rule` is a code of the catalogue (BP001) or a rule of the diff (dtype-narrowed), `subject` what it is about and
    `message` one sentence. `file` is as seen from the working directory; lines and columns count from 1. The whole
    record that the finding was made of is in `violation` or in `change`.
    """

    rule: str
    title: str
    level: Level
    subject: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    violation: Violation | None = None
    change: Change | None = None

    @property
    def label(self) -> str:
        """The rule with what it is about: `BP001 missing`; a rule of the diff says that by its name."""
        return f"{self.rule} {self.title}" if self.change is None else self.rule


class Section(Record):
    """What was found in one pipeline, in the code of some stages, or between two versions."""

    subject: str
    checked: str = ""
    ok: bool
    findings: tuple[Finding, ...] = ()

    @property
    def headline(self) -> str:
        """What was looked at, how much of it there is, and whether it is in order."""
        checked = f" ({self.checked})" if self.checked else ""
        return f"{self.subject}{checked}: {'passed' if self.ok else 'failed'}"


class Document(Record):
    """Everything that one call of a command found. `ok` is true where its exit code is 0."""

    version: Literal[1] = 1
    command: str
    ok: bool
    reports: tuple[Section, ...] = ()

    @property
    def findings(self) -> list[Finding]:
        """The findings of all reports."""
        return [finding for report in self.reports for finding in report.findings]


class Explanation(NamedTuple):
    """What a rule is about: its name, what it means, why it matters and what to do."""

    title: str
    means: str
    hurts: str
    fix: str


def of_report(report: Report) -> Section:
    """The findings of a static check."""
    findings = [_of_violation(finding) for finding in report.findings if finding.severity != "ignore"]
    return Section(subject=report.subject, checked=report.checked, ok=report.ok, findings=tuple(findings))


def of_error(error: ContractError) -> Section:
    """A declaration that does not hold and stopped the import of a target."""
    return of_violations(error.subject.removeprefix("in "), "", error.violations)


def of_violations(subject: str, checked: str, violations: Sequence[Violation]) -> Section:
    """What was found in something; it is in order where nothing was."""
    findings = tuple(map(_of_violation, violations))
    return Section(subject=subject, checked=checked, ok=not findings, findings=findings)


def of_diff(diff: Diff, *, drift: bool = False) -> Section:
    """Changes: an error where one breaks, a warning where that is allowed, a note where it does not.

    Args:
        diff: the changes.
        drift: whether there should be none: what breaks nobody is a warning then, too.
    """
    findings = [_of_change(change, diff, drift) for change in diff.changes]
    checked = f"{count(len(diff.changes), 'change')}, {len(diff.breaking) or 'none'} of them breaking"
    ok = not diff.changes if drift else diff.ok
    return Section(subject=f"{diff.new} against {diff.old}", checked=checked, ok=ok, findings=tuple(findings))


def explanation(rule: str) -> Explanation:
    """What the catalogue, or the rules of the diff, say about a rule."""
    code = CODES.get(rule)
    if code is not None:
        return Explanation(code.title, code.means, code.hurts, code.fix)
    found = RULES[rule]
    breaking = [verdict for verdict in found.verdicts.values() if verdict.breaks]
    hurts = "; ".join(dict.fromkeys(verdict.why for verdict in breaking or found.verdicts.values()))
    parties = {verdict.first for verdict in breaking if verdict.first is not None}
    order = f"Upgrade {parties.pop()} first. " if len(parties) == 1 else ""
    fix = f"{order}Where the change is meant, --allow {rule}." if breaking else "Nothing has to be done."
    return Explanation(rule.replace("-", " "), found.purpose, _sentence(hurts), fix)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _of_violation(violation: Violation) -> Finding:
    where = violation.where
    return Finding(
        rule=violation.code,
        title=CODES[violation.code].title,
        level="warning" if violation.severity == "warning" else "error",
        subject=violation.field if where.stage is None else f"{where.stage}: {violation.field}",
        message=sentence(violation),
        file=where.file,
        line=where.line,
        column=where.column,
        violation=violation,
    )


def _of_change(change: Change, diff: Diff, drift: bool) -> Finding:
    message = what(change)
    level: Level = "warning" if drift else "note"
    if change.breaks:
        message += f"; breaks {whom(change)}: {change.why}{advice(change)}"
        level = "warning" if change.rule in diff.allowed else "error"
    return Finding(
        rule=change.rule,
        title=explanation(change.rule).title,
        level=level,
        subject=change.subject,
        message=message.removeprefix("; "),
        file=change.where.file,
        line=change.where.line,
        column=change.where.column,
        change=change,
    )
