"""Where workers can be, as a group sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Call(NamedTuple):
    """A method of `Worker` with its arguments; the ones that were shared are the same object for many calls."""

    method: str
    args: tuple[Any, ...]


class Place(Protocol):
    """Workers by rank. What a worker answers, a `Failure` among it, is never raised."""

    def share(self, value: object) -> object:
        """Put a value where all workers can have it, once."""

    def ask(self, calls: Mapping[int, Call]) -> dict[int, object]:
        """Call workers, all at the same time where the place can, and wait for their answers by rank."""
        ...

    def stop(self) -> None:
        """End all workers."""
