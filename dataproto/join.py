"""Union and concat: everything is compared first, in all three stores, and only then joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import torch

from batchpact.dataproto.equality import difference
from batchpact.dataproto.meta import merge_meta
from batchpact.dataproto.tensors import Value, cat
from batchpact.schemas.axes import is_jagged, ragged_axis
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation

OnConflict: TypeAlias = Literal["error", "left", "right"]


class Joined(NamedTuple):
    """What a union adds to, or replaces in, the left side."""

    stores: Stores
    violations: list[Violation]
    leaves: tuple[tuple[PlacementName, str], ...] = ()


def compare_rows(left: int | None, right: int | None) -> list[Violation]:
    """Two sides of a union must have the same rows; a side without columns joins any."""
    if left is None or right is None or left == right:
        return []
    small, large, side = (left, right, "left") if left < right else (right, left, "right")
    hint = ""
    if small and large % small == 0:
        hint = f"{large} is {large // small} times {small}: a repeat({large // small}) of the {side} side is missing?"
    actual = f"{left} rows on the left, {right} on the right"
    return [
        Violation(
            code="BP016", field="batch", actual=actual, expected="a union joins fields of the same rows", hint=hint
        )
    ]


def union_stores(
    left: Stores, right: Stores, on_conflict: OnConflict, rewrites: frozenset[str], history: Mapping[str, str]
) -> Joined:
    """Compare two sides and tell what the left one gets.

    Args:
        left: the side that is extended.
        right: the side that is joined to it.
        on_conflict: which side counts where a name stands in both with different values.
        rewrites: names that the right side is declared to rewrite: it counts, whatever stands on the left.
        history: what is known of the names, for messages.
    """
    gained = Stores({}, {}, {})
    violations: list[Violation] = []
    leaves: list[tuple[PlacementName, str]] = []
    for placement, store in right.by_placement():
        own, out = left.store(placement), gained.store(placement)
        for key, value in store.items():
            if key not in own:
                elsewhere = left.find(key)
                if elsewhere is None:
                    out[key] = value  # type: ignore[index]
                elif key in rewrites:
                    leaves.append((elsewhere[0], key))
                    out[key] = value  # type: ignore[index]
                else:
                    sides = STORE_NAMES[elsewhere[0]], STORE_NAMES[placement]
                    violations.append(
                        Violation(
                            code="BP045",
                            field=key,
                            placement=placement,
                            actual=f"in {sides[0]} on the left, in {sides[1]} on the right",
                            expected="one place for one name",
                        )
                    )
            elif key in rewrites:
                out[key] = value  # type: ignore[index]
            elif own[key] is not value:
                where = difference(own[key], value)
                if where is None or on_conflict == "left":
                    continue
                if on_conflict == "right":
                    out[key] = value  # type: ignore[index]
                    continue
                known = history.get(key, "")
                actual = f"the sides differ: {where}" + (f" (left {known})" if known else "")
                violations.append(
                    Violation(
                        code="BP041",
                        field=key,
                        placement=placement,
                        actual=actual,
                        expected="equal values, or on_conflict='left' or 'right'",
                    )
                )
    return Joined(gained, violations, tuple(leaves))


def concat_stores(parts: Sequence[Stores], histories: Sequence[Mapping[str, str]]) -> tuple[Stores, list[Violation]]:
    """The stores of a concat. A part without any field and any row adds nothing and is left out of the comparison."""
    filled = [(at, part) for at, part in enumerate(parts) if part.tensors or part.columns]
    violations = _compare_fields(filled, histories) if filled else []
    meta, wrong_meta = merge_meta([part.meta for part in parts])
    violations += wrong_meta
    if violations or not filled:
        return Stores({}, {}, meta), violations
    first = filled[0][1]
    tensors: dict[str, object] = {}
    columns: dict[str, object] = {}
    for key in first.tensors:
        values: list[Value] = [part.tensors[key] for _, part in filled]  # type: ignore[misc]
        violations += _compare_tensors(key, filled)
        if not violations:
            tensors[key] = cat(values)
    for key in first.columns:
        columns_of = [part.columns[key] for _, part in filled]
        violations += _compare_columns(key, filled)
        if not violations:
            columns[key] = np.concatenate(columns_of)  # type: ignore[arg-type]
    return Stores(tensors, columns, meta), violations


def _compare_fields(filled: Sequence[tuple[int, Stores]], histories: Sequence[Mapping[str, str]]) -> list[Violation]:
    """Every part must have every field, in the same store."""
    places: dict[str, dict[PlacementName, list[int]]] = {}
    for at, part in filled:
        for placement in ("tensor", "non_tensor"):
            for key in part.store(placement):
                places.setdefault(key, {}).setdefault(placement, []).append(at)
    violations = []
    for key, found in places.items():
        having = sorted(at for parts in found.values() for at in parts)
        lacking = [at for at, _ in filled if at not in having]
        if len(found) > 1:
            sides = " and ".join(
                f"in {STORE_NAMES[placement]} of {_parts(parts)}" for placement, parts in found.items()
            )
            violations.append(Violation(code="BP045", field=key, actual=sides, expected="one place for one name"))
        if lacking:
            known = next((histories[at][key] for at in having if key in histories[at]), "")
            actual = f"missing in {_parts(lacking)}, present in {_parts(having)}" + (f" ({known})" if known else "")
            violations.append(
                Violation(
                    code="BP042",
                    field=key,
                    placement=next(iter(found)),
                    actual=actual,
                    expected="every part has the same fields",
                    hint="the producer must write it for every part, or the field be left out of all",
                )
            )
    return violations


def _compare_tensors(key: str, filled: Sequence[tuple[int, Stores]]) -> list[Violation]:
    kinds: dict[str, list[int]] = {}
    for at, part in filled:
        kinds.setdefault(_kind(part.tensors[key]), []).append(at)
    if len(kinds) < 2:
        return []
    actual = ", ".join(f"{kind} in {_parts(parts)}" for kind, parts in kinds.items())
    return [
        Violation(
            code="BP042", field=key, placement="tensor", actual=actual, expected="one dtype, layout and row shape"
        )
    ]


def _kind(value: object) -> str:
    """What the rows of a tensor are like, in words: parts can be joined where this is the same."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    dtype = short_name(dtype_name(value.dtype))
    if is_jagged(value):
        axis = ragged_axis(value)
        sizes = [size for at, size in enumerate(value.values().shape) if at != axis - 1]
        return f"{dtype} jagged on axis {axis}, {sizes}"
    return describe(value) if value.is_nested else f"{dtype} rows of {list(value.shape[1:])}"


def _compare_columns(key: str, filled: Sequence[tuple[int, Stores]]) -> list[Violation]:
    kinds: dict[str, list[int]] = {}
    for at, part in filled:
        value = part.columns[key]
        if isinstance(value, np.ndarray):
            kind = (
                "object"
                if value.dtype == object
                else value.dtype.kind
                if value.dtype.kind in "US"
                else value.dtype.name
            )
            kinds.setdefault(f"{kind} rows of {list(value.shape[1:])}", []).append(at)
    if len(kinds) < 2:
        return []
    actual = ", ".join(f"{kind} in {_parts(parts)}" for kind, parts in kinds.items())
    return [Violation(code="BP042", field=key, placement="non_tensor", actual=actual, expected="one kind of rows")]


def _parts(parts: Sequence[int]) -> str:
    return (
        f"part {parts[0]}"
        if len(parts) == 1
        else f"parts {', '.join(map(str, parts[:6]))}" + (f" and {len(parts) - 6} more" if len(parts) > 6 else "")
    )
