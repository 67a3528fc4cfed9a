"""How a command ends where a file, or what stands in an option, cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
