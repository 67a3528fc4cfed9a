"""What a sender kept back, in words: it goes along in the meta of a batch, so that a stage elsewhere can say it.

Used where nobody but the stage itself runs beside it, as inside verl; `workers/` tells its own workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from batchpact.dataproto.withheld import Elsewhere
from batchpact.schemas.stores import Stores

KEPT_BACK = "_batchpact_kept_back"
"""The name in the meta. No stage is handed it, and no result keeps it."""

Note: TypeAlias = "dict[str, dict[str, str]]"


def note_of(kept_back: Stores) -> Note:
    """What was kept back as plain data, which every container can hold: names with words, by placement."""
    return {
        placement: {key: value.text for key, value in held.items() if isinstance(value, Elsewhere)}
        for placement, held in kept_back.by_placement()
    }


def whole_of(source: Stores) -> Callable[[], Stores] | None:
    """What a batch holds together with what its sender kept back; None where nothing came along."""
    note = source.meta.get(KEPT_BACK)
    if not isinstance(note, dict):
        return None

    def whole() -> Stores:
        stores = (
            {**{key: Elsewhere(text) for key, text in note.get(placement, {}).items()}, **held}
            for placement, held in source.by_placement()
        )
        return Stores(*stores)

    return whole
