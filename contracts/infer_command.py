"""What `batchpact infer` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from batchpact.contracts.inferring.infer import saved, source_of
from batchpact.schemas.errors import ContractError


def infer_files(files: Sequence[str], name: str, output: str | None) -> None:
    """Print the source of a schema that the batches in these files keep to, or write it to a file.

    Raises:
        typer.Exit: with 2, where a file could not be used.
    """
    try:
        source = source_of([saved(file) for file in files], name)
        if output is not None:
            Path(output).write_text(source, encoding="utf-8")
    except (ContractError, OSError) as error:
        Console(highlight=False, emoji=False).print(str(error), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None
    if output is None:
        typer.echo(source, nl=False)
