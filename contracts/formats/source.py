"""Source that a command has made: printed, or written to a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from batchpact.schemas.errors import ContractError


@contextmanager
def usable() -> Iterator[None]:
    """What is refused in this block ends the command.

    Raises:
        typer.Exit: with 2.
    """
    try:
        yield
    except (ContractError, OSError) as error:
        Console(highlight=False, emoji=False).print(str(error), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None


def write_source(source: str, output: str | None) -> None:
    """Print source, or write it to a file.

    Raises:
        OSError: as the operating system says.
    """
    if output is None:
        typer.echo(source, nl=False)
    else:
        Path(output).write_text(source, encoding="utf-8")
