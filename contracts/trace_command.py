"""What `batchpact trace` does."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from batchpact.contracts.config_file import load_config
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.printer import Printer
from batchpact.contracts.formats.source import check_output, write_source
from batchpact.contracts.formats.usable import usable
from batchpact.contracts.targets import resolve, wrong_target
from batchpact.contracts.tracing.scope import Scope
from batchpact.contracts.tracing.trace import check_name, traced


def trace_script(
    script: str, arguments: Sequence[str], watch: Sequence[str], *, config: str | None, name: str, output: str | None
) -> None:
    """Run a script, and print the source of what was seen, or write it to a file.

    Raises:
        typer.Exit: with 2, where something could not be used, or no call was seen; with the script's own code where it
            ends with another than 0.
    """
    with usable():
        check_name(name)
        check_output(output)
        settled = None if config is None else load_config(config)
        if not Path(script).is_file():
            raise wrong_target(script, f"there is no file {script}", "a Python script")
    with Printer("trace", Format.TEXT).importing("what is watched"):
        scope = Scope([resolve(target)[2] for target in watch])
    with traced(scope, settled) as record:
        _run(script, arguments)
    with usable():
        write_source(record.source(name), output)


def _run(script: str, arguments: Sequence[str]) -> None:
    """Run a script as Python does, to its end or to Ctrl-C: few loops are awaited to the end for a draft.

    Raises:
        SystemExit: where it ends with another code than 0.
    """
    before = sys.argv, sys.path
    sys.argv, sys.path = [script, *arguments], [str(Path(script).resolve().parent), *sys.path]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise
    except KeyboardInterrupt:
        typer.echo("interrupted: the draft is of what was seen until here", err=True)
    finally:
        sys.argv, sys.path = before
