"""All stages of a run: their findings, without those that comments or the baseline silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from batchpact.contracts.baseline import Key
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.lint.comments import Comment, comments
from batchpact.contracts.lint.judge import Judge
from batchpact.contracts.lint.sources import Sources
from batchpact.contracts.lint.stage_code import read_stage
from batchpact.contracts.lint.trace import Site, Span
from batchpact.contracts.placing import from_here
from batchpact.contracts.report import Report
from batchpact.schemas.text import count, quoted
from batchpact.schemas.violations import Violation, Where

_OPAQUE = "BP076"


@dataclass(frozen=True, slots=True)
class Linted:
    """What the linter found.

    Attributes:
        report: the findings that nothing silences, with file, line and column, in the order of the files.
        keys: what these findings, and those of the baseline that are still there, are known by.
        gone: what the baseline knows and the code no longer does.
    """

    report: Report
    keys: tuple[Key, ...]
    gone: tuple[Key, ...]


def lint(stages: Sequence[Boundary], *, undecidable: bool = False, known: frozenset[Key] = frozenset()) -> Linted:
    """Read the code of stages and hold it against their contracts. Nothing is run.

    Args:
        stages: the contracts of the functions.
        undecidable: whether to report what cannot be told by reading, too.
        known: the baseline.
    """
    run = _Run(undecidable)
    for boundary in stages:
        run.read(boundary)
    found = sorted(run.findings(), key=lambda pair: _order(pair[1]))
    keys = [Key.of(stage, finding) for stage, finding in found]
    new = tuple(_shown(finding) for key, (_, finding) in zip(keys, found, strict=True) if key not in known)
    subject = quoted([stages[0].name]) if len(stages) == 1 else count(len(stages), "stage")
    checked = f"{count(len(run.files), 'file')}" + (f", {run.without_code} without source" if run.without_code else "")
    return Linted(Report(f"the code of {subject}", checked, new), tuple(keys), tuple(sorted(known - set(keys))))


class _Run:
    """One run over several stages."""

    def __init__(self, undecidable: bool) -> None:
        self._sources = Sources()
        self._undecidable = undecidable
        self._found: dict[tuple[str, Violation], None] = {}
        self._spans: dict[Span, str] = {}
        self.without_code = 0

    @property
    def files(self) -> set[str]:
        """The files that were read."""
        return {span.file for span in self._spans}

    def read(self, boundary: Boundary) -> None:
        """Read one stage."""
        trace = read_stage(boundary, self._sources)
        if trace is None:
            self.without_code += 1
            return
        stage = boundary.spec.qualname
        for span in trace.spans:
            self._spans.setdefault(span, stage)
        self._found.update(((stage, finding), None) for finding in Judge(boundary, trace).findings())

    def findings(self) -> Iterator[tuple[str, Violation]]:
        """The findings that no comment silences, and the comments that silence nothing."""
        written = {(comment.site.file, comment.site.line): comment for comment in self._comments()}
        silenced: dict[Comment, set[str]] = {comment: set() for comment in written.values()}
        for stage, finding in self._found:
            comment = written.get((finding.where.file or "", finding.where.line or 0))
            if comment is not None and comment.silences(finding.code):
                silenced[comment].add(finding.code)
            elif finding.code != _OPAQUE or self._undecidable:
                yield stage, finding
        for comment, codes in silenced.items():
            for code in comment.idle(codes):
                yield self._stage_at(comment.site), _idle(comment, code)

    def _comments(self) -> Iterator[Comment]:
        """The comments in the functions that were read."""
        for file in self.files:
            source = self._sources.file(file)
            for comment in () if source is None else comments(source):
                if self._stage_at(comment.site):
                    yield comment

    def _stage_at(self, site: Site) -> str:
        spans = [span for span in self._spans if span.file == site.file and span.first <= site.line <= span.last]
        return self._spans[max(spans, key=lambda span: span.first)] if spans else ""


def _idle(comment: Comment, code: str) -> Violation:
    where = Where(file=comment.site.file, line=comment.site.line, column=comment.site.column)
    actual = f"nothing in this line is {code}" if code else "nothing in this line is found"
    return Violation(
        code="BP077",
        field=code or "ignore",
        actual=actual,
        expected="a comment that silences something",
        hint="delete it",
        where=where,
        severity="warning",
    )


def _order(finding: Violation) -> tuple[str, int, int, str]:
    where = finding.where
    return where.file or "", where.line or 0, where.column or 0, finding.code


def _shown(finding: Violation) -> Violation:
    """The finding with its file as seen from the working directory."""
    return finding.at(Where(file=from_here(finding.where.file or "")))
