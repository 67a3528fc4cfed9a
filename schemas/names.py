"""Close names: what somebody may have meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of the names, or None if none is similar."""
    found = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return found[0] if found else None
