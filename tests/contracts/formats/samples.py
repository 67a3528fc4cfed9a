"""Documents to be printed: one of each kind of finding, and texts that no format may stumble over."""

from __future__ import annotations

from batchpact.contracts.formats.findings import Document, Finding, Section, of_diff, of_error, of_report
from batchpact.contracts.lock.diff import Diff
from batchpact.contracts.lock.fields import Found
from batchpact.contracts.lock.stages import change
from batchpact.contracts.report import Report
from batchpact.schemas import DeclarationError, Violation, Where

MISSING = Violation(
    code="BP001",
    field="scores",
    placement="tensor",
    expected='f32 "batch"',
    hint="nobody writes it",
    where=Where(pipeline="ppo", stage="use", boundary="reads", file="trainer/plan.py", line=12, column=5),
)
DTYPE = Violation(code="BP005", field="x", actual="f16", expected="f32", severity="warning")
SILENT = Violation(code="BP005", field="y", actual="f16", expected="f32", severity="ignore")
NASTY = "a|b `c` *d* _e_ <f> [g](h) 100% ~i~ \\ $j$ & # x,y:z\r\nsecond line\u2028third \N{GRINNING FACE}"

REPORT = Report("pipeline 'ppo'", "2 stages, 3 fields", (MISSING, DTYPE, SILENT))
BROKEN = DeclarationError(
    "in the declaration of Score", [Violation(code="BP051", field="y", actual="float is no place")]
)
REMOVED = change(
    Found("field-removed", "y", 'f32 "batch"', ""), "stage 'score' writes", "trainer.Score.Writes", "writes"
)
WIDENED = change(Found("dtype-widened", "y", "f32", "float"), "stage 'score' writes", "trainer.Score.Writes", "writes")
DESCRIBED = change(Found("description-changed", "", "Old.", "New."), "stage 'score'", "trainer.Score")
DIFF = Diff("a.json in main", "the code", (REMOVED, WIDENED, DESCRIBED), frozenset({"dtype-widened"}))


def document(*sections: Section, command: str = "check") -> Document:
    return Document(command=command, ok=all(section.ok for section in sections), reports=sections)


def nasty(file: str | None = "a folder/ö,:%.py") -> Document:
    """A document of texts that have to be escaped."""
    finding = Finding(rule="BP001", title="missing", level="error", subject=NASTY, message=NASTY, file=file, line=3)
    return document(Section(subject=NASTY, checked=NASTY, ok=False, findings=(finding,)))


EVERYTHING = document(of_report(REPORT), of_error(BROKEN), of_diff(DIFF))
EMPTY = document(Section(subject="pipeline 'ppo'", checked="1 stage", ok=True))
