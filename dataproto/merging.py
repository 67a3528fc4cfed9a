"""Merging what several batches hold for the batch as a whole: equal where present, or by the policy of the field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from numbers import Number
from typing import cast

import numpy as np
import torch

from batchpact.dataproto.carried import Carried, is_carried
from batchpact.dataproto.equality import difference
from batchpact.schemas.describe import describe
from batchpact.schemas.policies import Merge
from batchpact.schemas.violations import Violation

METRICS = "metrics"

EQUAL = Merge("equal")
DEFAULTS: Mapping[str, Merge] = {METRICS: Merge("collect")}
"""What holds in a concat where no policy is declared; verl collects metrics."""


class Unmergeable(Exception):
    """Values that a policy cannot make one value of; says why."""


def merge_meta(
    metas: Sequence[Mapping[str, object]],
    policies: Mapping[str, Merge] = DEFAULTS,
    carried: Sequence[Carried | None] = (),
) -> tuple[dict[str, object], list[Violation]]:
    """The meta of a concat: every key that a part has, merged by its policy.

    Args:
        metas: the meta of each part.
        policies: the policy of each key; equal where it has none.
        carried: what each part still has from the batch it was cut from.

    Returns:
        The merged meta, and a violation for each key whose values cannot be merged.
    """
    merged: dict[str, object] = {}
    violations: list[Violation] = []
    for key in dict.fromkeys(key for meta in metas for key in meta):
        parts = [(f"part {part}", meta[key]) for part, meta in enumerate(metas) if key in meta]
        if is_carried(key, [value for _, value in parts], carried):
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


def merge_values(parts: Sequence[tuple[str, object]], policy: Merge) -> object:
    """One value of the values of several parts; none of them is changed.

    Args:
        parts: each value with a word for where it comes from.
        policy: how.

    Raises:
        Unmergeable: if the policy does not apply to these values.
    """
    values = [value for _, value in parts]
    if policy.how == "first":
        return values[0]
    if policy.how == "equal":
        return _same(parts, difference)
    if policy.how == "close":
        return _same(parts, lambda left, right: _far(left, right, policy.rtol or 0.0))
    present = [(name, value) for name, value in parts if value is not None]
    if not present:
        return None
    if policy.how == "collect":
        return collect([value for _, value in present])
    mappings = [(name, value) for name, value in present if isinstance(value, Mapping)]
    if len(mappings) == len(present):
        return _by_key(mappings, policy.policy_of or (lambda _: policy))
    if policy.how == "by_key":
        raise Unmergeable(f"by_key merges dicts, and {_first_other(present, Mapping)}")
    if policy.how == "set_union":
        return _union_of_sets(present)
    return _number_of(present, policy.how)


def collect(parts: Sequence[object]) -> object:
    """Values of several parts as a list, dicts as one dict of lists; a key that a part lacks has a shorter list.

    A value that is a list already is extended, so that collecting twice does not nest.
    """
    entries: list[object] = []
    for part in parts:
        entries.extend(part if isinstance(part, list) else [part])
    if not all(isinstance(entry, Mapping) for entry in entries):
        return entries
    lists: dict[str, list[object]] = {}
    for entry in entries:
        if isinstance(entry, Mapping):
            for name, value in entry.items():
                lists.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return lists


def _by_key(parts: Sequence[tuple[str, Mapping[str, object]]], policy_of: Callable[[str], Merge]) -> dict[str, object]:
    merged: dict[str, object] = {}
    for key in dict.fromkeys(key for _, value in parts for key in value):
        try:
            merged[key] = merge_values([(name, value[key]) for name, value in parts if key in value], policy_of(key))
        except Unmergeable as problem:
            raise Unmergeable(f"[{key!r}]: {problem}") from None
    return merged


def _same(parts: Sequence[tuple[str, object]], differ: Callable[[object, object], str | None]) -> object:
    first, kept = parts[0]
    for name, value in parts[1:]:
        where = differ(kept, value)
        if where is not None:
            raise Unmergeable(f"{first} and {name} differ: {where}")
    return kept


def _far(left: object, right: object, rtol: float) -> str | None:
    """How two values differ beyond a relative deviation; dicts and sequences are compared element by element."""
    if isinstance(left, Mapping) and isinstance(right, Mapping) and left.keys() == right.keys():
        return next((f"[{key!r}]: {d}" for key in left if (d := _far(left[key], right[key], rtol))), None)
    if isinstance(left, (list, tuple)) and type(left) is type(right) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return next((f"[{at}]: {d}" for at, (a, b) in pairs if (d := _far(a, b, rtol))), None)
    where = difference(left, right)
    if where is None:
        return None
    if _is_number(left) and _is_number(right):
        near = math.isclose(float(left), float(right), rel_tol=rtol, abs_tol=0.0)  # type: ignore[arg-type]
        return None if near else where
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor) and left.shape == right.shape:
        if left.is_nested or left.dtype is not right.dtype:
            return where
        near = torch.allclose(left, right.to(left.device), rtol=rtol, atol=0.0, equal_nan=True)
        return None if near else where
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and left.shape == right.shape:
        if left.dtype.kind not in "iuf" or left.dtype != right.dtype:
            return where
        return None if np.allclose(left, right, rtol=rtol, atol=0.0, equal_nan=True) else where
    return where


def _union_of_sets(parts: Sequence[tuple[str, object]]) -> object:
    kept = parts[0][1]
    kind = type(kept)
    if kind not in (list, tuple, set, frozenset) or any(type(value) is not kind for _, value in parts):
        raise Unmergeable(f"set_union joins lists or sets of one kind, and {_kinds(parts)}")
    elements = (element for _, value in parts for element in cast("Iterable[object]", value))
    try:
        joined: object = cast(Callable[..., object], kind)(dict.fromkeys(elements))
    except TypeError as error:
        raise Unmergeable(f"set_union needs elements that can be told apart: {error}") from None
    return joined


def _number_of(parts: Sequence[tuple[str, object]], how: str) -> object:
    values = [value for _, value in parts]
    arrays = all(isinstance(value, torch.Tensor) for value in values) or all(
        isinstance(value, np.ndarray) for value in values
    )
    if arrays and len({tuple(value.shape) for value in values}) > 1:  # type: ignore[attr-defined]
        raise Unmergeable(f"{how} needs one shape, and {_kinds(parts)}")
    if not arrays and not all(_is_number(value) for value in values):
        raise Unmergeable(f"{how} is for numbers, arrays and tensors, and {_kinds(parts)}")
    numbers = cast("list[float]", values)  # or arrays, which calculate like them
    if how == "max":
        return reduce(_larger, numbers)
    total = reduce(lambda left, right: left + right, numbers)
    return total if how == "sum" else total / len(numbers)


def _larger(left: float, right: float) -> float:
    if isinstance(left, torch.Tensor):
        return cast(float, torch.maximum(left, cast(torch.Tensor, right)))
    if isinstance(left, np.ndarray):
        return cast(float, np.maximum(left, right))
    return left if left != left or left >= right else right  # NaN stays


def _is_number(value: object) -> bool:
    return isinstance(value, (Number, np.number)) and not isinstance(value, (bool, complex))


def _kinds(parts: Sequence[tuple[str, object]]) -> str:
    kinds: dict[str, list[str]] = {}
    for name, value in parts:
        kinds.setdefault(describe(value), []).append(name)
    return ", ".join(f"{names[0]} has {kind}" for kind, names in kinds.items())


def _first_other(parts: Sequence[tuple[str, object]], kind: type) -> str:
    name, value = next((name, value) for name, value in parts if not isinstance(value, kind))
    return f"{name} has {describe(value)}"
