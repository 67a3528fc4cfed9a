"""Prints what a command finds, in the format that was asked for, and ends the command with its exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from batchpact.contracts.formats.findings import Document, Section, of_error
from batchpact.contracts.formats.github import write_summary
from batchpact.contracts.formats.names import Format
from batchpact.contracts.formats.output import FORMATS
from batchpact.schemas.errors import ContractError, SettingError


class Printer:
    """The output of one command. Text is printed as it comes, every other format once, at the end.

    Args:
        command: the name of the command.
        form: the format.
    """

    def __init__(self, command: str, form: Format) -> None:
        self._command = command
        self._form = form
        self._sections: list[Section] = []
        self._out = Console(highlight=False, soft_wrap=True, emoji=False)
        # What a machine reads is alone on the standard output.
        self._told = self._out if form is Format.TEXT else Console(stderr=True, highlight=False, soft_wrap=True)

    @property
    def failed(self) -> bool:
        """Whether something was found."""
        return not all(section.ok for section in self._sections)

    def show(self, section: Section, text: str) -> None:
        """Print a report, which is this text."""
        self._sections.append(section)
        if self._form is Format.TEXT:
            self._out.print(text, style="green" if section.ok else "red", markup=False)

    def tell(self, text: str) -> None:
        """Print something that is no finding."""
        self._told.print(text, markup=False)

    @contextmanager
    def importing(self, what: str) -> Iterator[None]:
        """Code of a user is imported here: a declaration that does not hold is a finding, anything else the end.

        Raises:
            typer.Exit: with 2, where the target cannot be used.
        """
        try:
            yield
        except typer.Exit:
            raise
        except SettingError as error:
            self._told.print(str(error), style="red", markup=False)
            raise typer.Exit(2) from None
        except ContractError as error:
            self.show(of_error(error), str(error))
        except Exception:
            # The module of the target is somebody's code, and may fail in any way; its own traceback says most.
            self.trace(f"{what} could not be imported")
            raise typer.Exit(2) from None

    def trace(self, text: str) -> None:
        """Print the exception that is being handled, and a line below it."""
        self._told.print_exception(max_frames=20)
        self._told.print(text, style="red", markup=False)

    def finish(self) -> None:
        """Print what was not printed yet.

        Raises:
            typer.Exit: with 1, where something was found.
        """
        if self._form is not Format.TEXT:
            document = Document(command=self._command, ok=not self.failed, reports=tuple(self._sections))
            typer.echo(FORMATS[self._form](document).rstrip("\n"))
            if self._form is Format.GITHUB:
                write_summary(document)
        if self.failed:
            raise typer.Exit(1)
