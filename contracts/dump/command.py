"""What `batchpact replay` does."""

from __future__ import annotations

from contextlib import nullcontext

import typer

from batchpact.contracts.config_file import load_config
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.formats.usable import usable
from batchpact.schemas.errors import ContractError


def replay(file: str, stage: str | None, *, find: bool, config: str | None) -> None:
    """Show the error of a dump, and run its stage on the saved batch.

    Args:
        file: the dump.
        stage: the target of a stage; it is not run where None.
        find: whether to run the stage that the dump names.
        config: a file with the configuration that counts while it runs.

    Raises:
        typer.Exit: with 1, where the error is shown and nothing says that it is gone; with 2, where the file, the stage
            or the configuration could not be used.
    """
    printer = Printer("replay", Format.TEXT)
    with printer.importing("the settings"):
        from batchpact.contracts.configuration import use_config
        from batchpact.contracts.dump.loading import Dump
        from batchpact.contracts.dump.replay import run, shown, stage_at, target_of

        settled = None if config is None else load_config(config)
    with usable():
        dump = Dump.load(file)
        text = shown(dump)
    printer.tell(text)
    if stage is None and not find:
        raise typer.Exit(1)
    with printer.importing("the stage"):
        target = stage or target_of(dump)
        running = stage_at(target)
    with nullcontext() if settled is None else use_config(settled):
        try:
            run(dump, running)
        except ContractError as error:
            printer.tell(f"\nrun again, {target}:\n\n{error}")
            raise typer.Exit(1) from None
        except Exception:
            # The stage is somebody's code, and may fail in any way; its own traceback says most.
            printer.trace(f"\nrun again, {target} raises an error of its own")
            raise typer.Exit(1) from None
    printer.tell(f"\nrun again, {target}: healthy now")
