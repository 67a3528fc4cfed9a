"""Union: two sides of the same rows, compared in all three stores before anything is joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from batchpact.dataproto.equality import difference
from batchpact.dataproto.rows import Index
from batchpact.schemas.describe import STORE_NAMES
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


def compare_origins(left: Index | None, right: Index | None) -> list[Violation]:
    """Two sides whose rows come from different rows of a stage's input, where both sides know it."""
    if left is None or right is None or left is right or np.array_equal(left, right):
        return []
    row = int(np.flatnonzero(left != right)[0])
    return [
        Violation(
            code="BP016",
            field="batch",
            actual=f"row {row} is input row {left[row]} on the left and input row {right[row]} on the right",
            expected="a union joins fields of the same rows",
            hint="one side was reordered or selected; do the same to the other",
        )
    ]


def union_stores(
    left: Stores,
    right: Stores,
    on_conflict: OnConflict,
    rewrites: frozenset[str],
    history: Callable[[], Mapping[str, str]],
) -> Joined:
    """Compare two sides and tell what the left one gets.

    Args:
        left: the side that is extended.
        right: the side that is joined to it.
        on_conflict: which side counts where a name stands in both with different values.
        rewrites: names that the right side is declared to rewrite: it counts, whatever stands on the left.
        history: tells what is known of the names, for messages.
    """
    gained: dict[PlacementName, dict[str, object]] = {}
    violations: list[Violation] = []
    leaves: list[tuple[PlacementName, str]] = []
    for placement, store in right.by_placement():
        own, out = left.store(placement), gained.setdefault(placement, {})
        for key, value in store.items():
            if key not in own:
                elsewhere = left.find(key)
                if elsewhere is None:
                    out[key] = value
                elif key in rewrites:
                    leaves.append((elsewhere[0], key))
                    out[key] = value
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
                out[key] = value
            elif own[key] is not value:
                where = difference(own[key], value)
                if where is None or on_conflict == "left":
                    continue
                if on_conflict == "right":
                    out[key] = value
                    continue
                known = history().get(key, "")
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
    return Joined(Stores(*gained.values()), violations, tuple(leaves))
