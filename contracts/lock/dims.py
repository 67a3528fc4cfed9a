"""The dims of two versions of some fields: which shapes one admits and the other does not.

A name means nothing by itself: it says which axes have one size. Two versions are therefore compared by the sets of
axes that share a size, and a name that was changed everywhere changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from batchpact.contracts.lock.relation import Relation, between, together
from batchpact.schemas.dim_names import binds_dim
from batchpact.schemas.expressions import Expression
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.shapes import Dim, parse_dims

Label: TypeAlias = tuple[int, str]
"""Which field it is: the number of the schema it stands in, and its key."""
Axis: TypeAlias = tuple[Label, int]
Pair: TypeAlias = tuple[Dim, Dim]
Meaning: TypeAlias = Expression | str
"""A size as arithmetic; or a word for one that is left open."""

_NAME = re.compile(r"[A-Za-z]\w*")


class _Held(NamedTuple):
    """What one version says of an axis: the axes that are tied to it, and its size, where it is fixed or computed.

    An axis of the same size is tied to it by nothing more; one whose size is computed from it, by the arithmetic.
    """

    ties: frozenset[tuple[Axis, Expression | None]]
    size: Expression | None


class Dims:
    """The dims of the fields that both versions have.

    Args:
        old: the fields that share dim names, in the old version.
        new: the same in the new version.

    Attributes:
        renamed: the new name of every dim that has another one.
    """

    def __init__(self, old: Mapping[Label, FieldSpec], new: Mapping[Label, FieldSpec]) -> None:
        texts = {label: (_dims(field), _dims(new.get(label))) for label, field in old.items()}
        found = {label: _aligned(*both) for label, both in texts.items()}
        self._texts = texts
        self._shared = [Counter(filter(None, map(_open, map(_dims, side.values())))) for side in (old, new)]
        self._aligned = {label: pairs for label, pairs in found.items() if pairs is not None}
        counted = [label for label, field in old.items() if label in new and binds_dim(field) and binds_dim(new[label])]
        self._names = _names(self._aligned.values(), [key for _, key in counted])
        self.renamed = {before: after for before, after in self._names.items() if before != after}
        sizes = {(label, 0): Dim(label[1], "name", name=label[1]) for label in counted}
        self._old = _held({**sizes, **self._side(0)}, self._as_now)
        self._new = _held({**sizes, **self._side(1)}, _meaning)

    def relation(self, label: Label) -> Relation:
        """How the shapes that a field admits stand to those it admitted; same where it only follows a new name."""
        pairs = self._aligned.get(label)
        if pairs is None:
            return Relation.REPLACED
        if self.follows(label):
            return Relation.SAME
        return together([self._ranks(label), *(self._axis((label, at)) for at in range(len(pairs)))])

    def _ranks(self, label: Label) -> Relation:
        """Any number of axes is more than a certain one, unless their name ties them to those of another field."""
        old, new = (_open(text) for text in self._texts[label])
        if (old is None) == (new is None):
            return Relation.SAME
        if self._shared[0][old or ""] > 1 or self._shared[1][new or ""] > 1:
            return Relation.REPLACED
        return Relation.WIDER if old is None else Relation.NARROWER

    def follows(self, label: Label) -> bool:
        """Whether a field has the old dims, under their new names."""
        before, after = (len(parse_dims(text)) for text in self._texts[label])
        pairs = self._aligned.get(label, ())
        return before == after == len(pairs) and all(self._as_now(old) == _meaning(new) for old, new in pairs)

    def _axis(self, axis: Axis) -> Relation:
        old, new = self._old[axis], self._new[axis]
        return between(
            narrows=old.ties <= new.ties and old.size in (None, new.size),
            widens=new.ties <= old.ties and new.size in (None, old.size),
        )

    def _as_now(self, dim: Dim) -> Meaning:
        """What an old dim says, under the new names; a name that is gone is like no new one."""
        meaning = _meaning(dim)
        if isinstance(meaning, str):
            return meaning
        return meaning.substitute(
            {name: Expression.name(self._names.get(name, f"{name} ")) for name in meaning.names()}
        )

    def _side(self, side: int) -> dict[Axis, Dim]:
        return {(label, at): pair[side] for label, pairs in self._aligned.items() for at, pair in enumerate(pairs)}


def _dims(field: FieldSpec | None) -> str:
    place = None if field is None else field.place("tensor")
    return "" if place is None else place.dims or ""


def _aligned(before: str, after: str) -> list[Pair] | None:
    """The axes of two shapes side by side, without those that one of them leaves open; None where the ranks differ."""
    old, new = parse_dims(before), parse_dims(after)
    open_old, open_new = _many(old), _many(new)
    if (open_old is None) == (open_new is None):
        return list(zip(old, new, strict=True)) if (open_old, len(old)) == (open_new, len(new)) else None
    several, at, closed = (old, open_old, new) if open_old is not None else (new, open_new, old)
    first = at or 0
    behind = len(several) - first - 1
    if len(closed) < first + behind:
        return None
    heads = zip(old[:first], new[:first], strict=True)
    return [*heads, *zip(old[len(old) - behind :], new[len(new) - behind :], strict=True)]


def _open(text: str) -> str | None:
    """What a shape calls any number of axes: a name, nothing, or None where there is no such part."""
    return next((dim.name or "" for dim in parse_dims(text) if dim.kind == "many"), None)


def _many(dims: tuple[Dim, ...]) -> int | None:
    return next((at for at, dim in enumerate(dims) if dim.kind == "many"), None)


def _meaning(dim: Dim) -> Meaning:
    """What a dim says, in a form in which two that say the same are equal."""
    if dim.kind == "many" and dim.name is not None:
        return Expression.name(f"*{dim.name}")
    return dim.as_expression() or dim.kind


def names_in(dim: Dim) -> list[str]:
    """The names in a dim; that of several axes with its star."""
    meaning = _meaning(dim)
    return list(meaning.names()) if isinstance(meaning, Expression) else []


def _names(fields: Iterable[Iterable[Pair]], fixed: Iterable[str]) -> dict[str, str]:
    """Which new name stands where an old one stood: its own where it still does, else the one that does most often."""
    votes = Counter(names for pairs in fields for pair in pairs for names in _paired(*pair))
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


def _held(axes: Mapping[Axis, Dim], meaning: Callable[[Dim], Meaning]) -> dict[Axis, _Held]:
    """What is said of each axis."""
    ties: dict[Expression, set[tuple[Axis, Expression | None]]] = {}
    meanings = {axis: meaning(dim) for axis, dim in axes.items()}
    for axis, said in meanings.items():
        if isinstance(said, Expression):
            ties.setdefault(said, set()).add((axis, None))
            for part in {*map(Expression.name, said.names())} - {said}:
                ties.setdefault(part, set()).add((axis, said))
    found = {}
    for axis, said in meanings.items():
        if isinstance(said, str):
            found[axis] = _Held(frozenset({(axis, None)}), None)
        else:
            size = said if axes[axis].kind in ("fixed", "expression") else None
            found[axis] = _Held(frozenset(ties[said]), size)
    return found
