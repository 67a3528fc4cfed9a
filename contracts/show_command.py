"""What `batchpact show` does."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.config_file import load_config
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.pyproject import project_targets
from batchpact.contracts.reference.codes import entry, is_code


def show_name(name: str, targets: Sequence[str], config: str | None) -> None:
    """Print what there is to say of a stage or a field, of a code (BP001) or a rule of the diff.

    Raises:
        typer.Exit: with 2, where a target could not be used, or nothing has this name.
    """
    printer = Printer("show", Format.TEXT)
    if is_code(name):
        printer.tell(entry(name))
        return
    with printer.importing("the targets"):
        targets = project_targets(targets)
        settled = None if config is None else load_config(config)
    pipelines = []
    for target in targets:
        with printer.importing(f"the target {target}"):
            from batchpact.contracts.targets import load

            pipelines += load(target)
    with printer.importing("the name"):
        from batchpact.contracts.show import show

        printer.tell(show(pipelines, name, settled))
    printer.finish()
