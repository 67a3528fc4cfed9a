"""Names as parts of addresses: of anchors within a page, and of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import takewhile

_PLAIN = re.compile(r"[A-Za-z0-9_.\-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_.\-]+")


def slug(name: str) -> str:
    """A name as an anchor. One that holds anything odd ends in a hash, so that no two names share an anchor."""
    return name if _PLAIN.fullmatch(name) else f"{_OTHER.sub('-', name).strip('-')}-{_hash(name)}".lstrip("-")


def slugs(names: Iterable[str]) -> list[str]:
    """Names as anchors of one page; a name that comes again is numbered."""
    found: dict[str, None] = {}
    for name in names:
        plain, number = slug(name), 1
        while (numbered := plain if number == 1 else f"{plain}-{number}") in found:
            number += 1
        found[numbered] = None
    return list(found)


def file_name(name: str) -> str:
    """A name as that of a file, also where upper and lower case are one."""
    plain = slug(name)
    if plain == name and (plain != plain.lower() or plain.startswith(".")):
        plain = f"{plain.strip('.')}-{_hash(name)}"
    return plain.lower()


def distinction(qualname: str, alike: Iterable[str]) -> str:
    """What tells a qualified name from others, without the parts that all of them begin and end with."""
    every = [name.split(".") for name in alike]
    first = sum(1 for _ in takewhile(_is_one, zip(*every, strict=False)))
    last = sum(1 for _ in takewhile(_is_one, zip(*(reversed(parts) for parts in every), strict=False)))
    own = qualname.split(".")
    return ".".join(own[first : max(len(own) - last, first + 1)]) or qualname


def _is_one(parts: Sequence[str]) -> bool:
    return len(set(parts)) == 1


def _hash(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:6]
