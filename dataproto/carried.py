"""Meta that parts still have from the batch they were cut from: it is carried along, not merged.

Without this, the sum over eight parts of a count that all of them were handed would be eight times the count. Where
the parts hold one mutable object, that says it. A number says nothing by its identity: Python has one 5 for everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

_WITHOUT_IDENTITY = (type(None), bool, int, float, complex, str, bytes)


class Carried(NamedTuple):
    """What a batch and the batches that come from it have in common.

    Attributes:
        source: names the batch; it stays the same in other processes.
        meta: what stood in its meta under keys that are merged.
    """

    source: str
    meta: Mapping[str, object]


def carry(known: Carried | None, meta: Mapping[str, object], keys: Collection[str]) -> Carried:
    """What a batch hands on to those that are derived from it; the same as long as these keys stay as they are."""
    now = {key: meta[key] for key in keys if key in meta}
    if known is not None and known.meta.keys() == now.keys() and all(now[key] is known.meta[key] for key in now):
        return known
    return Carried(uuid4().hex, now)


def is_carried(key: str, values: Sequence[object], carried: Sequence[Carried | None]) -> bool:
    """Whether all these values of one key are what one batch once had."""
    first = values[0]
    if len(values) > 1 and not isinstance(first, _WITHOUT_IDENTITY) and all(value is first for value in values):
        return True
    sources = {known.source for known in carried if known is not None and key in known.meta}
    if len(sources) != 1 or len(carried) != len(values) or None in carried:
        return False
    return all(_unchanged(value, known.meta[key]) for value, known in zip(values, carried, strict=True) if known)


def _unchanged(value: object, was: object) -> bool:
    """Whether a part's value is still the one it was handed; in another process a number or a text is a copy."""
    return value is was or (isinstance(value, _WITHOUT_IDENTITY) and type(value) is type(was) and value == was)
