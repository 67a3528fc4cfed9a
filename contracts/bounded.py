"""A dictionary of the variants of a contract that were made, which does not grow without end."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 256
"""So many are kept: names are data, and data can be different in every call."""


class Bounded(dict[K, V]):
    """Starts anew once it holds `MOST` values."""

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= MOST:
            self.clear()
        super().__setitem__(key, value)
