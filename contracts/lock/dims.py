"""The dims of two versions of some fields: which shapes one admits and the other does not.

A name means nothing by itself: it says which axes have one size. Two versions are therefore compared by the sets of axes
that share a size, and a name that was changed everywhere changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from batchpact.contracts.lock.relation import Relation, between, together
from batchpact.schemas.dim_names import binds_dim
from batchpact.schemas.expressions import Expression
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.shapes import Dim, parse_dims

Label: TypeAlias = tuple[str, str]
"""Which field it is: the part of the stage it stands in, and its key."""
Axis: TypeAlias = tuple[Label, int]

_NAME = re.compile(r"[A-Za-z]\w*")


class _Held(NamedTuple):
    """What one version says of an axis: the axes of its size, and what the size is, where that is said."""

    axes: frozenset[Axis]
    size: int | Expression | None


class Dims:
    """The dims of the fields that both versions have.

    Args:
        old: the fields that share dim names, in the old version.
        new: the same in the new version.

    Attributes:
        renamed: the new name of every dim that has another one.
    """

    def __init__(self, old: Mapping[Label, FieldSpec], new: Mapping[Label, FieldSpec]) -> None:
        self._texts = {
            label: (before, after)
            for label, field in old.items()
            if (before := _dims(field)) is not None and (after := _dims(new.get(label))) is not None
        }
        aligned = {label: pairs for label, texts in self._texts.items() if (pairs := _aligned(*texts)) is not None}
        counted = [label for label, field in old.items() if label in new and binds_dim(field) and binds_dim(new[label])]
        names = _names(aligned.values(), [key for _, key in counted])
        self.renamed = {before: after for before, after in names.items() if before != after}
        self._aligned = aligned
        self._names = {before: Expression.name(after) for before, after in names.items()}
        sizes = [((label, 0), Dim(label[1], "name", name=label[1])) for label in counted]
        self._old = _held([*sizes, *_side(aligned, 0)])
        self._new = _held([*sizes, *_side(aligned, 1)])

    def relation(self, label: Label) -> Relation:
        """How the shapes that a field admits stand to those it admitted; same where it only follows a new name."""
        before, after = self._texts[label]
        pairs = self._aligned.get(label)
        if pairs is None:
            return Relation.REPLACED
        if self._follows(pairs):
            return Relation.SAME
        more = [any(dim.kind == "many" for dim in parse_dims(text)) for text in (before, after)]
        ranks = between(narrows=more[0] or not more[1], widens=more[1] or not more[0])
        return together([ranks, *(self._axis((label, at), *pair) for at, pair in enumerate(pairs))])

    def respelt(self, label: Label) -> bool:
        """Whether the dims of a field are written in another way that no new name explains."""
        before, after = self._texts[label]
        pairs = self._aligned.get(label)
        return before != after and not (pairs is not None and self._follows(pairs))

    def _follows(self, pairs: Iterable[tuple[Dim, Dim]]) -> bool:
        """Whether the old dims under their new names are the new dims."""
        return all(self._as_now(before) == _meaning(after) for before, after in pairs)

    def _as_now(self, dim: Dim) -> object:
        meaning = _meaning(dim)
        return meaning.substitute(self._names) if isinstance(meaning, Expression) else meaning

    def _axis(self, axis: Axis, before: Dim, after: Dim) -> Relation:
        if self._as_now(before) == _meaning(after) and before.kind == after.kind == "expression":
            return Relation.SAME
        old, new = self._old[axis], self._new[axis]
        narrows = old.axes <= new.axes and old.size in (None, new.size)
        widens = new.axes <= old.axes and new.size in (None, old.size)
        return between(narrows=narrows, widens=widens)


def _dims(field: FieldSpec | None) -> str | None:
    place = None if field is None else field.place("tensor")
    return None if place is None else place.dims or ""


def _aligned(before: str, after: str) -> list[tuple[Dim, Dim]] | None:
    """The axes of two shapes side by side, without those that one of them leaves open; None where none fits."""
    old, new = parse_dims(before), parse_dims(after)
    open_old, open_new = _many(old), _many(new)
    if open_old is None and open_new is None:
        return list(zip(old, new, strict=True)) if len(old) == len(new) else None
    if open_old is not None and open_new is not None:
        return list(zip(old, new, strict=True)) if (open_old, len(old)) == (open_new, len(new)) else None
    first, last = (open_old, len(old)) if open_old is not None else (open_new or 0, len(new))
    behind = last - first - 1
    if min(len(old), len(new)) < last - 1 and max(len(old), len(new)) < last - 1:
        return None
    closed = new if open_old is not None else old
    if len(closed) < last - 1:
        return None
    heads = list(zip(old[:first], new[:first], strict=True))
    return heads + (list(zip(old[-behind:], new[-behind:], strict=True)) if behind else [])


def _many(dims: tuple[Dim, ...]) -> int | None:
    return next((at for at, dim in enumerate(dims) if dim.kind == "many"), None)


def _meaning(dim: Dim) -> object:
    """What a dim says, in a form in which two that say the same are equal."""
    if dim.kind == "many" and dim.name is not None:
        return Expression.name(f"*{dim.name}")
    return dim.as_expression() or dim.kind


def _names(fields: Iterable[Iterable[tuple[Dim, Dim]]], fixed: Iterable[str]) -> dict[str, str]:
    """Which new name stands where an old one stood: its own where it still does, else the one that does most often."""
    votes: Counter[tuple[str, str]] = Counter()
    for pairs in fields:
        for before, after in pairs:
            votes.update(_paired(before, after))
    votes.update((key, key) for key in fixed)
    found: dict[str, str] = {}
    for (before, after), _ in sorted(votes.items(), key=lambda item: (item[0][0] != item[0][1], -item[1], item[0])):
        if before not in found and after not in found.values():
            found[before] = after
    return found


def _paired(before: Dim, after: Dim) -> Iterator[tuple[str, str]]:
    if before.kind == after.kind == "many":
        if before.name is not None and after.name is not None:
            yield f"*{before.name}", f"*{after.name}"
    elif before.kind == after.kind and before.kind in ("name", "expression"):
        old, new = _NAME.findall(before.text), _NAME.findall(after.text)
        if len(old) == len(new):
            yield from zip(old, new, strict=True)


def _side(aligned: Mapping[Label, list[tuple[Dim, Dim]]], side: int) -> Iterator[tuple[Axis, Dim]]:
    for label, pairs in aligned.items():
        for at, pair in enumerate(pairs):
            yield (label, at), pair[side]


def _held(axes: list[tuple[Axis, Dim]]) -> dict[Axis, _Held]:
    """What is said of each axis; one under arithmetic shares no size, and its names stand at its axis, too."""
    sharing: dict[object, set[Axis]] = {}
    for axis, dim in axes:
        meaning = _meaning(dim)
        if isinstance(meaning, Expression):
            sharing.setdefault(meaning, set()).add(axis)
            for name in meaning.names():
                sharing.setdefault(Expression.name(name), set()).add(axis)
    found = {}
    for axis, dim in axes:
        meaning = _meaning(dim)
        shared = frozenset(sharing[meaning]) if isinstance(meaning, Expression) else frozenset((axis,))
        size = dim.size if dim.kind == "fixed" else meaning if dim.kind == "expression" else None
        found[axis] = _Held(shared, size if isinstance(size, (int, Expression)) else None)
    return found
