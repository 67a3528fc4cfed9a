"""What open columns are called, as a sender tells it: a stage elsewhere lacks the configuration and most of the meta.

Used inside verl, where a stage asks its questions itself; `workers/` sends the answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from batchpact.contracts.boundary import Boundary

TOLD_NAMES = "_batchpact_names"
"""The name in the meta. No stage is handed it, and no result keeps it."""


def told_names(boundary: Boundary) -> dict[str, list[str]]:
    """The names that a contract has for open columns, by what says them, as plain data."""
    found: dict[str, list[str]] = {}
    for compiled in (boundary.reads.__batchpact__, boundary.writes.__batchpact__):
        for name, keys in compiled.named.items():
            source = compiled.columns[name].spec.named_by
            if source is not None:
                found[f"{source.source} {source.name}"] = [*keys]
    return found


def names_told(meta: Mapping[str, object]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The same where it has arrived; nothing where nobody told any."""
    note = meta.get(TOLD_NAMES)
    if not isinstance(note, Mapping):
        return {}
    parted = ((str(source).partition(" "), names) for source, names in note.items())
    return {(kind, name): tuple(names) for (kind, _, name), names in parted}
