"""Source that a command has made: printed, or written to a file."""

from __future__ import annotations

from pathlib import Path

import typer

from batchpact.schemas.errors import SettingError
from batchpact.schemas.violations import Violation


def check_output(output: str | None) -> None:
    """Ask whether a file can be where it is to be written, before the work is done.

    Raises:
        SettingError: if there is no such folder.
    """
    if output is not None and not Path(output).parent.is_dir():
        actual = f"there is no folder {Path(output).parent}"
        violation = Violation(
            code="BP052", field="--output", actual=actual, expected="a file in a folder that is there"
        )
        raise SettingError("in the options", [violation])


def write_source(source: str, output: str | None) -> None:
    """Print source, or write it to a file.

    Raises:
        OSError: as the operating system says.
    """
    if output is None:
        typer.echo(source, nl=False)
    else:
        Path(output).write_text(source, encoding="utf-8")
