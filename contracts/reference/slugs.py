"""Names as parts of addresses: of anchors within a page, and of files."""

from __future__ import annotations

import re
from hashlib import sha256

_PLAIN = re.compile(r"[A-Za-z0-9_.\-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_.\-]+")


def slug(name: str) -> str:
    """A name as an anchor. One that holds anything odd ends in a hash, so that no two names share an anchor."""
    return name if _PLAIN.fullmatch(name) else f"{_OTHER.sub('-', name).strip('-')}-{_hash(name)}".lstrip("-")


def file_name(name: str) -> str:
    """A name as that of a file, also where upper and lower case are one."""
    plain = slug(name)
    if plain == plain.lower() and plain != "index" and not plain.startswith("."):
        return plain
    return f"{plain.lower().strip('.')}-{_hash(name)}"


def _hash(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:6]
