"""Merging what several batches hold for the batch as a whole: equal where present, or by the policy of the field."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import cast

import numpy as np
import torch

from batchpact.schemas.describe import describe
from batchpact.schemas.equality import difference
from batchpact.schemas.policies import Merge
from batchpact.schemas.reducing import Parts, Unmergeable, kinds_of, reduce_numbers
from batchpact.schemas.violations import Violation

_MUTABLE = (dict, list, set, np.ndarray, torch.Tensor)

METRICS = "metrics"

EQUAL = Merge("equal")
DEFAULTS: Mapping[str, Merge] = {METRICS: Merge("collect")}
"""What holds in a concat where no policy is declared; verl collects metrics."""


def merge_meta(
    metas: Sequence[Mapping[str, object]],
    policies: Mapping[str, Merge] = DEFAULTS,
    carried: Collection[str] = (),
    noun: str = "part",
) -> tuple[dict[str, object], list[Violation]]:
    """The meta of a concat: every key that a part has, merged by its policy.

    Args:
        metas: the meta of each part.
        policies: the policy of each key; equal where it has none.
        carried: the keys that all parts which have them still have from the batch that they were cut from.
        noun: the word for a part.

    Returns:
        The merged meta, and a violation for each key whose values cannot be merged.
    """
    merged: dict[str, object] = {}
    violations: list[Violation] = []
    for key in dict.fromkeys(key for meta in metas for key in meta):
        parts = [(f"{noun} {part}", meta[key]) for part, meta in enumerate(metas) if key in meta]
        if key in carried or is_one_object([value for _, value in parts]):
            merged[key] = parts[0][1]
            continue
        try:
            merged[key] = merge_values(parts, policies.get(key, EQUAL))
        except Unmergeable as problem:
            expected = "one value for the batch"
            violations.append(
                Violation(code="BP041", field=key, placement="meta", actual=str(problem), expected=expected)
            )
    return merged, violations


def is_one_object(values: Sequence[object]) -> bool:
    """Whether several parts hold one object that can be told from an equal one."""
    first = values[0]
    return len(values) > 1 and isinstance(first, _MUTABLE) and all(value is first for value in values)


def merge_values(parts: Parts, policy: Merge) -> object:
    """One value of the values of several parts; none of them is changed.

    Args:
        parts: each value with a word for where it comes from.
        policy: how. To `equal` and `close` None is a value like any other; else it stands for none.

    Raises:
        Unmergeable: if the policy does not apply to these values.
    """
    if policy.how in ("equal", "close"):
        return _same(parts, policy.rtol or 0.0, policy.atol)
    present = [(name, value) for name, value in parts if value is not None]
    if not present:
        return None
    if policy.how == "first":
        return present[0][1]
    if policy.how == "collect":
        return collect([value for _, value in present])
    if all(isinstance(value, Mapping) for _, value in present):
        return _by_key(cast("Sequence[tuple[str, Mapping[str, object]]]", present), policy)
    if policy.how == "by_key":
        raise Unmergeable(f"by_key merges dicts, and {kinds_of(present)}")
    if policy.how == "set_union":
        return _union_of_sets(present)
    return reduce_numbers(present, policy.how)


def collect(parts: Sequence[object]) -> object:
    """Values of several parts as a list, dicts as one dict of lists; a key that a part lacks has a shorter list.

    A value that is a list already is extended, so that collecting twice does not nest.
    """
    entries: list[object] = []
    for part in parts:
        entries.extend(part if isinstance(part, list) else [part])
    if not entries or not all(isinstance(entry, Mapping) for entry in entries):
        return entries
    lists: dict[str, list[object]] = {}
    for entry in cast("list[Mapping[str, object]]", entries):
        for name, value in entry.items():
            lists.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return lists


def _by_key(parts: Sequence[tuple[str, Mapping[str, object]]], policy: Merge) -> dict[str, object]:
    """Dicts as one, a key by the policy that it has, or that the dict has."""
    first = parts[0][1]
    merged: dict[str, object] = copy.copy(first) if isinstance(first, dict) else {}
    merged.clear()
    for key in dict.fromkeys(key for _, value in parts for key in value):
        try:
            of_key = policy if policy.policy_of is None else policy.policy_of(key)
            if not isinstance(of_key, Merge):
                raise Unmergeable(f"policy_of gives {describe(of_key)}, and no Merge")
            merged[key] = merge_values([(name, value[key]) for name, value in parts if key in value], of_key)
        except Unmergeable as problem:
            raise problem.under(key) from None
    return merged


def _same(parts: Parts, rtol: float, atol: float) -> object:
    first, kept = parts[0]
    for name, value in parts[1:]:
        where = difference(kept, value, rtol=rtol, atol=atol)
        if where is not None:
            raise Unmergeable(f"{first} and {name} differ: {where}")
    return kept


def _union_of_sets(parts: Parts) -> object:
    kind = type(parts[0][1])
    if kind not in (list, tuple, set, frozenset) or any(type(value) is not kind for _, value in parts):
        raise Unmergeable(f"set_union joins lists or sets of one kind, and {kinds_of(parts)}")
    elements = (element for _, value in parts for element in cast("Iterable[object]", value))
    try:
        joined: object = cast(Callable[..., object], kind)(dict.fromkeys(elements))
    except TypeError as error:
        raise Unmergeable(f"set_union needs elements that can be told apart: {error}") from None
    return joined
