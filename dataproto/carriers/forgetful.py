"""What containers have in common that remember nothing of a batch's way: neither writers nor the origin of rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from batchpact.dataproto.rows import Index


class Forgetful:
    """A carrier whose container has no place for what `DataProto` carries unseen."""

    def history(self, batch: object) -> Mapping[str, str]:
        return {}

    def mark(self, batch: object, *, writers: Mapping[str, str], rewrites: frozenset[str]) -> None:
        return None

    def note_reader(self, batch: object, stage: str, keys: Collection[str]) -> None:
        return None

    def origin(self, batch: object) -> Index | None:
        return None

    def start_rows(self, handed: object, rows: int) -> None:
        return None

    def pads(self, batch: object) -> np.ndarray | None:
        return None
