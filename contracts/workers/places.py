"""Where workers can be, as a group sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

Ref: TypeAlias = Any
"""What stands for a value, or for an answer that is still to come; an argument of further calls at the same place."""


class Call(NamedTuple):
    """A method of `Worker` with its arguments; the ones that were shared are the same object for many calls."""

    method: str
    args: tuple[Any, ...]


class Place(Protocol):
    """Workers by rank. What a worker answers, a `Failure` among it, is never raised."""

    def share(self, value: object) -> Ref:
        """Put a value where all workers can have it, once."""

    def send(self, calls: Mapping[int, Call]) -> dict[int, Ref]:
        """Call workers, all at the same time where the place can, and wait for none of them."""
        ...

    def gather(self, sent: Mapping[int, Ref]) -> dict[int, object]:
        """Wait for the answers of calls, by rank; where a worker has died, nobody waits for the others."""
        ...

    def stop(self) -> None:
        """End all workers."""
