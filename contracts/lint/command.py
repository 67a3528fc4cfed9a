"""What `batchpact lint` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from batchpact.contracts.baseline import Key, check_options, gone_words, read_baseline, write_baseline
from batchpact.contracts.formats.findings import of_report
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.pyproject import project_targets
from batchpact.contracts.report import Report
from batchpact.schemas.catalogue import CODES
from batchpact.schemas.text import count, sentence

if TYPE_CHECKING:
    from batchpact.contracts.boundary import Boundary


def lint_targets(targets: Sequence[str], form: Format, *, undecidable: bool, baseline: str | None, write: bool) -> None:
    """Lint the stages of all targets.

    Args:
        targets: modules, files, pipelines, stages or classes; those of the project where there are none.
        form: how the findings are printed.
        undecidable: whether what cannot be told by reading is reported, too.
        baseline: the file of known findings.
        write: whether that file is written instead of read.

    Raises:
        typer.Exit: with 1, where there is an error; with 2, where a target or the baseline could not be used.
    """
    printer = Printer("lint", form)
    stages: dict[str, Boundary] = {}
    with printer.importing("the targets"):
        targets = project_targets(targets)
        check_options(baseline, write)
    for target in targets:
        with printer.importing(f"the target {target}"):
            # Here, as importing them may refuse a setting of the environment.
            from batchpact.contracts.lint.stages import stages_of

            stages.update((stage.spec.qualname, stage) for stage in stages_of(target))
    if stages:
        _lint(printer, list(stages.values()), undecidable, baseline, write)
    printer.finish()


def _lint(printer: Printer, stages: Sequence[Boundary], undecidable: bool, baseline: str | None, write: bool) -> None:
    from batchpact.contracts.lint.linter import lint

    known: frozenset[Key] = frozenset()
    if baseline is not None and not write:
        with printer.importing("the baseline"):
            known = read_baseline(baseline)
    linted = lint(stages, undecidable=undecidable, known=known)
    if baseline is not None and write:
        with printer.importing("the baseline"):
            write_baseline(baseline, linted.keys)
        printer.tell(f"{count(len(set(linted.keys)), 'known finding')} written to {baseline}")
        return
    printer.show(of_report(linted.report), text_of(linted.report))
    if linted.gone:
        printer.tell(gone_words(linted.gone))


def text_of(report: Report) -> str:
    """The findings, each with its place in front, as terminals and editors link it."""
    if not report.findings:
        return str(report)
    lines = [f"{count(len(report.findings), 'problem')} in {report.subject} ({report.checked})", ""]
    for finding in report.findings:
        where, title = finding.where, CODES[finding.code].title
        field = finding.field if where.stage is None else f"{where.stage}: {finding.field}"
        place = f"{where.file}:{where.line}:{where.column}"
        lines.append(f"  {place}  {finding.code} {title}  {field}  {sentence(finding)}")
    return "\n".join(lines)
