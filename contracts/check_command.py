"""What `batchpact check` does."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.formats.findings import of_report
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.pyproject import project_targets


def check_targets(targets: Sequence[str], form: Format) -> None:
    """Check the pipelines of all targets.

    Raises:
        typer.Exit: with 1, where there is a problem; with 2, where a target could not be used.
    """
    printer = Printer("check", form)
    with printer.importing("the targets"):
        targets = project_targets(targets)
    for target in targets:
        with printer.importing(f"the target {target}"):
            # Here, as importing them may refuse a setting of the environment.
            from batchpact.contracts.placing import placed
            from batchpact.contracts.targets import load

            for pipeline in load(target):
                report = placed(pipeline.check(), pipeline.spec)
                printer.show(of_report(report), str(report))
    printer.finish()
