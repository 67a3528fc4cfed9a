"""Meta that parts still have from the batch they were cut from: it is carried along, not merged.

Without this, the sum over eight parts of a count that all of them were handed would be eight times the count. Where
the parts hold one mutable object, that says it. A number says nothing by its identity: Python has one 5 for everybody.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import torch

from batchpact.dataproto.equality import equal

_MUTABLE = (dict, list, set, np.ndarray, torch.Tensor)


class Carried(NamedTuple):
    """A meta value that a batch has in common with the batches that come from it.

    Attributes:
        source: names the batch where the value first stood; it stays the same in other processes.
        value: what it was there.
    """

    source: str
    value: object


def carry(known: Mapping[str, Carried], meta: Mapping[str, object], keys: Collection[str]) -> Mapping[str, Carried]:
    """What a batch hands on to those that are derived from it, by key: the same as before where nothing changed."""
    fresh = {key: meta[key] for key in keys if key in meta and not _unchanged(meta[key], known.get(key))}
    if not fresh:
        return known
    source = uuid4().hex
    return {**known, **{key: Carried(source, value) for key, value in fresh.items()}}


def in_common(metas: Sequence[Mapping[str, object]], carried: Sequence[Mapping[str, Carried]]) -> dict[str, Carried]:
    """The values that all parts which have the key still have from one batch.

    Args:
        metas: the meta of each part.
        carried: what each part was handed.
    """
    first = {key: known for part in reversed(carried) for key, known in part.items()}
    found: dict[str, Carried] = {}
    for key, known in first.items():
        parts = [(meta[key], part.get(key)) for meta, part in zip(metas, carried, strict=True) if key in meta]
        same = all(was is not None and was.source == known.source and _unchanged(value, was) for value, was in parts)
        if parts and same and all(equal(value, parts[0][0]) for value, _ in parts):
            found[key] = known
    return found


def is_one_object(values: Sequence[object]) -> bool:
    """Whether several parts hold one object that could be told from an equal one."""
    first = values[0]
    return len(values) > 1 and isinstance(first, _MUTABLE) and all(value is first for value in values)


def snapshot(carried: Mapping[str, Carried]) -> dict[str, Carried]:
    """The same for a batch that arrives in another process, where nobody sees what others write into a value."""
    return {key: known._replace(value=copy.deepcopy(known.value)) for key, known in carried.items()}


def _unchanged(value: object, was: Carried | None) -> bool:
    """Whether a value is still the one that was handed; in another process it is a copy."""
    if was is None:
        return False
    return value is was.value or (type(value) is type(was.value) and equal(value, was.value))
