"""What `batchpact check` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from batchpact.contracts.baseline import Key, check_options, gone_words, read_baseline, write_baseline
from batchpact.contracts.config_file import load_config
from batchpact.contracts.formats.findings import of_report
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.pyproject import project_targets
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation


def check_targets(
    targets: Sequence[str], form: Format, config: str | None, *, baseline: str | None, write: bool
) -> None:
    """Check the pipelines of all targets, in all configurations or in that of a file.

    A target that the project names for other commands may hold no pipeline.

    Args:
        targets: pipelines; those of the project where there are none.
        form: how the findings are printed.
        config: the file of the only configuration that is looked at.
        baseline: the file of known findings.
        write: whether that file is written instead of read.

    Raises:
        typer.Exit: with 1, where there is a problem; with 2, where a target or the baseline could not be used.
    """
    printer = Printer("check", form)
    with printer.importing("the targets"):
        named = project_targets(targets)
        settled = None if config is None else load_config(config)
        check_options(baseline, write)
        known = frozenset() if baseline is None or write else read_baseline(baseline)
    keys: set[Key] = set()
    checked = 0
    for target in named:
        with printer.importing(f"the target {target}"):
            # Here, as importing them may refuse a setting of the environment.
            from batchpact.contracts.placing import placed
            from batchpact.contracts.targets import load, pipelines_in

            for pipeline in load(target) if targets else pipelines_in(target):
                flow = pipeline.flow(settled)
                report = placed(pipeline.report(flow), pipeline.spec)
                keys.update(_key(pipeline.name, finding) for finding in report.findings)
                new = tuple(finding for finding in report.findings if _key(pipeline.name, finding) not in known)
                report = replace(report, findings=new)
                live = f"\n{flow.switches()}" if flow.one else ""
                if not write:
                    printer.show(of_report(report), f"{report}{live}")
                checked += 1
    if not checked and not printer.failed:
        with printer.importing("the targets"):
            from batchpact.contracts.targets import wrong_target

            raise wrong_target(", ".join(named), "none of them holds a pipeline", "a module that makes one")
    if baseline is not None and write and not printer.failed:
        with printer.importing("the baseline"):
            write_baseline(baseline, keys)
        printer.tell(f"{count(len(keys), 'known finding')} written to {baseline}")
    elif known - keys:
        printer.tell(gone_words(sorted(known - keys)))
    printer.finish()


def _key(pipeline: str, finding: Violation) -> Key:
    """What a finding is known by."""
    stage = finding.where.stage
    return Key.of(pipeline if stage is None else f"{pipeline}/{stage}", finding)
