"""What a declaration admits, beside what it admitted before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeVar

T = TypeVar("T")


class Relation(Enum):
    """The new declaration beside the old one."""

    SAME = "same"
    """Both admit the same."""
    NARROWER = "narrowed"
    """The new one admits some of what the old one did."""
    WIDER = "widened"
    """The new one admits all of what the old one did, and more."""
    REPLACED = "replaced"
    """Each admits something that the other does not."""


def relation(old: T, new: T, admits: Callable[[T, T], bool]) -> Relation:
    """How two declarations stand to each other.

    Args:
        old: one declaration.
        new: the other.
        admits: whether everything that is right for its second argument is right for its first.
    """
    return between(narrows=admits(old, new), widens=admits(new, old))


def between(*, narrows: bool, widens: bool) -> Relation:
    """The relation of a declaration that admits nothing new, everything old, both or neither."""
    if narrows:
        return Relation.SAME if widens else Relation.NARROWER
    return Relation.WIDER if widens else Relation.REPLACED


def together(relations: Iterable[Relation]) -> Relation:
    """The relation of declarations that say several things at once."""
    found = set(relations) - {Relation.SAME}
    if not found:
        return Relation.SAME
    return found.pop() if len(found) == 1 else Relation.REPLACED
