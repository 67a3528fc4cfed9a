"""What `batchpact infer` does."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.formats.source import check_output, write_source
from batchpact.contracts.formats.usable import usable
from batchpact.contracts.inferring.infer import saved, source_of


def infer_files(files: Sequence[str], name: str, output: str | None) -> None:
    """Print the source of a schema that the batches in these files keep to, or write it to a file.

    Raises:
        typer.Exit: with 2, where a file could not be used.
    """
    with usable():
        check_output(output)
        write_source(source_of([saved(file) for file in files], name), output)
