"""Sentences in which a stage or a field is a link, for whoever prints them where there are links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["stage", "field"]


class Ref(NamedTuple):
    """A stage or a field in a sentence.

    Attributes:
        kind: what it is.
        name: its name in the pipeline; the key of a field.
        text: how the sentence calls it.
        at: the number of a stage, as a pipeline may have several of one name; None for a field.
    """

    kind: Kind
    name: str
    text: str
    at: int | None = None


Words: TypeAlias = tuple[str | Ref, ...]
"""A sentence: texts, and what is a link."""


def plain(words: Words) -> str:
    """A sentence without links."""
    return "".join(word if isinstance(word, str) else word.text for word in words)


def joined(items: Sequence[str | Ref]) -> Words:
    """`a, b and c`, as in a sentence; nothing is left out, as a reference is looked things up in."""
    if len(items) < 2:
        return tuple(items)
    *most, last = items
    words: list[str | Ref] = []
    for item in most:
        words += [item, ", "]
    return (*words[:-1], " and ", last)
