"""What contracts ask of a container. One implementation for each kind; none of them converts anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import numpy as np

from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import Index, Rows
from batchpact.schemas.stores import Stores


class Carrier(Protocol):
    """How one kind of container is looked at, handed out, made and changed.

    `batch` is always a container of the carrier's kind; the kinds have no type in common.
    """

    def stores(self, batch: Any) -> Stores:
        """What the batch holds."""
        ...

    def history(self, batch: Any) -> Mapping[str, str]:
        """What is known of each name, in words; empty where the container remembers nothing."""
        ...

    def hand_out(self, batch: Any, terms: HandOut) -> Any:
        """The part of the batch that a stage is handed, in a container of the same kind."""

    def make(self, like: Any, fields: Stores, rows: int | None) -> Any:
        """A new container of the kind of `like` with these fields."""

    def copy(self, batch: Any) -> Any:
        """A container of its own with the same fields; storage is shared."""

    def put(self, batch: Any, fields: Stores, drops: Collection[str]) -> None:
        """Set fields in place and remove others; a field that moves to another store leaves its old one."""

    def take(self, batch: Any, rows: Rows) -> Any:
        """The whole batch in other rows."""

    def mark(self, batch: Any, *, writers: Mapping[str, str], rewrites: frozenset[str]) -> None:
        """Note which stage wrote which field, and what it rewrote, where the container can remember it."""

    def note_reader(self, batch: Any, stage: str, keys: Collection[str]) -> None:
        """Note that a stage has read these fields, where the container can remember it."""

    def origin(self, batch: Any) -> Index | None:
        """The input row that each row came from, where the container knows it."""

    def start_rows(self, handed: Any, rows: int) -> None:
        """From here on the container carries which input row each row came from, if it can."""

    def pads(self, batch: Any) -> np.ndarray | None:
        """Which rows are padding, where the container knows it."""
