"""What `batchpact check` does."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.config_file import load_config
from batchpact.contracts.formats.findings import of_report
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.pyproject import project_targets


def check_targets(targets: Sequence[str], form: Format, config: str | None) -> None:
    """Check the pipelines of all targets, in all configurations or in that of a file.

    A target that the project names for other commands may hold no pipeline.

    Raises:
        typer.Exit: with 1, where there is a problem; with 2, where a target could not be used.
    """
    printer = Printer("check", form)
    with printer.importing("the targets"):
        named = project_targets(targets)
        settled = None if config is None else load_config(config)
    checked = 0
    for target in named:
        with printer.importing(f"the target {target}"):
            # Here, as importing them may refuse a setting of the environment.
            from batchpact.contracts.placing import placed
            from batchpact.contracts.targets import load, pipelines_in

            for pipeline in load(target) if targets else pipelines_in(target):
                flow = pipeline.flow(settled)
                report = placed(pipeline.report(flow), pipeline.spec)
                live = f"\n{flow.switches()}" if flow.one else ""
                printer.show(of_report(report), f"{report}{live}")
                checked += 1
    if not checked and not printer.failed:
        with printer.importing("the targets"):
            from batchpact.contracts.targets import wrong_target

            raise wrong_target(", ".join(named), "none of them holds a pipeline", "a module that makes one")
    printer.finish()
