"""What is found wrong with a file while it is read; at the end it is one `BatchError`."""

from __future__ import annotations

from typing import NoReturn

WRITTEN = "what save_to_disk wrote"


class Broken(Exception):
    """A file, or a part of it, is not what it has to be.

    Attributes:
        actual: what stands there.
        expected: what belongs there.
        hint: what to do.
    """

    def __init__(self, actual: str, expected: str = WRITTEN, hint: str = "") -> None:
        super().__init__(actual, expected, hint)
        self.actual, self.expected, self.hint = actual, expected, hint


def broken_by(error: Exception, what: str) -> NoReturn:
    """Raise what a library found wrong with a part of a file."""
    said = first_line(error)
    raise Broken(f"{what}: {said}" if said else what) from None


def first_line(error: Exception) -> str:
    """How the message of a library begins; the first line says most."""
    return next(iter(str(error).splitlines()), "")[:200]
