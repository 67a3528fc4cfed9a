"""Meta that parts still have from the batch they were cut from: it is carried along, not merged.

Without this, the sum over eight parts of a count that all of them were handed would be eight times the count. Where
the parts hold one mutable object, that says it. A number says nothing by its identity, as Python has one 5 for
everybody, and a part that comes back from another process holds copies: so a batch and those that come from it
remember, key by key, which batch a value is from and what it was there.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

from batchpact.schemas.equality import equal


class Value(NamedTuple):
    """A value as it was in the batch where it first stood; the name of that batch is the same in all processes."""

    source: str
    value: object


class Carried(NamedTuple):
    """What a batch has in common with those that come from it.

    Attributes:
        own: the name of this batch; empty where nothing was derived from it yet.
        values: the meta values that are merged, by key.
    """

    own: str
    values: Mapping[str, Value]

    def now(self, meta: Mapping[str, object], keys: Collection[str]) -> Carried:
        """The same with the values that these keys have now."""
        own = self.own or uuid4().hex
        fresh = {key: meta[key] for key in keys if key in meta and not _unchanged(meta[key], self.values.get(key))}
        if not fresh and own is self.own:
            return self
        return Carried(own, {**self.values, **{key: Value(own, value) for key, value in fresh.items()}})

    def handed_on(self) -> Carried:
        """The same for a batch that comes from this one."""
        return Carried("", self.values)

    def received(self) -> Carried:
        """The same for a batch that arrives in another process, where nobody sees what others write into a value."""
        return Carried("", {key: was._replace(value=copy.deepcopy(was.value)) for key, was in self.values.items()})

    def joined_by(self, other: Carried) -> Carried:
        """The same for a batch that fields of another were joined to."""
        return Carried(self.own, {**other.values, **self.values})


NOTHING = Carried("", {})


def in_common(metas: Sequence[Mapping[str, object]], carried: Sequence[Carried]) -> Carried:
    """The values that all parts which have the key still have from one batch, and one of them not as that very batch.

    Args:
        metas: the meta of each part.
        carried: what each part has in common with others.
    """
    found: dict[str, Value] = {}
    for key in dict.fromkeys(key for part in carried for key in part.values):
        having = [(meta[key], part) for meta, part in zip(metas, carried, strict=True) if key in meta]
        kept = [part.values[key] for value, part in having if _unchanged(value, part.values.get(key))]
        one = len(kept) == len(having) and len({was.source for was in kept}) == 1
        if one and any(part.own != kept[0].source for _, part in having) and _all_equal([value for value, _ in having]):
            found[key] = kept[0]
    return Carried("", found) if found else NOTHING


def _all_equal(values: Sequence[object]) -> bool:
    return all(equal(values[0], value) for value in values[1:])


def _unchanged(value: object, was: Value | None) -> bool:
    """Whether a value is still what it was where it first stood; in another process it is a copy of that."""
    if was is None:
        return False
    return value is was.value or (type(value) is type(was.value) and equal(value, was.value))
