"""Union: two sides of the same rows, compared in all three stores before anything is joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from batchpact.dataproto.alignment import align
from batchpact.dataproto.carried import is_carried
from batchpact.dataproto.equality import difference
from batchpact.dataproto.merging import Unmergeable, merge_values
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.row_marks import UNMARKED
from batchpact.dataproto.rows import Index
from batchpact.schemas.describe import STORE_NAMES
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.policies import Merge
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.dataproto.container import DataProto

OnConflict: TypeAlias = Literal["error", "left", "right"]


class Joined(NamedTuple):
    """What a union adds to, or replaces in, the left side."""

    stores: Stores
    violations: list[Violation]
    leaves: tuple[tuple[PlacementName, str], ...] = ()


def join_in_place(left: DataProto, right: DataProto, on_conflict: OnConflict, *, realign: bool) -> None:
    """`DataProto.union`: everything is compared first, and the left side changed after."""
    if on_conflict not in ("error", "left", "right"):
        raise refuse("union", "BP045", "on_conflict", repr(on_conflict), "'error', 'left' or 'right'")
    mine, theirs = left.consistent_stores(), right.consistent_stores()
    counts = [
        len(side) if stores.tensors or stores.columns else None for side, stores in ((left, mine), (right, theirs))
    ]
    wrong = compare_rows(*counts)
    if wrong:
        raise refuse_all("union", wrong)
    bound = left._bound if left._bound is not None else right._bound
    keys = [] if bound is None else bound.keys
    if realign and not keys:
        hint = "bind a schema in which a field is a Key()"
        raise refuse("union", "BP023", "realign", "nothing says which row is which", "a declared key", hint)
    if keys and None not in counts:
        order = align(keys, (mine, left._marks), (theirs, right._marks), realign=realign)
        if isinstance(order, Violation):
            raise refuse_all("union", [order])
        if order is not None:
            right = right._take(order)
            theirs = right.stores()
    if None not in counts:
        wrong = compare_origins(left._marks.origin, right._marks.origin)
        if wrong:
            raise refuse_all("union", wrong)
    merge = None
    if bound is not None and (merges := bound.merges):
        merge = _Merging(merges, left, right)
    gained = union_stores(mine, theirs, on_conflict, right._rewrites, left.history, merge)
    if gained.violations:
        raise refuse_all("union", gained.violations)
    marks = left._marks if right._marks is UNMARKED else left._marks.joined_by(right._marks)
    if left._bound is not None:
        merged = Stores(*({**one, **two} for one, two in zip(mine[:3], gained.stores[:3], strict=True)))
        left._bound.check(merged, left.history(), pads=marks.pads)
    left._put(gained.stores, [key for _, key in gained.leaves])
    left._writers = {**left._writers, **right._writers}
    left._marks = marks


class _Merging:
    """Meta of both sides that a declared policy makes one value of."""

    def __init__(self, merges: Mapping[str, Merge], left: DataProto, right: DataProto) -> None:
        self._merges = merges
        self._carried = left._carried, right._carried

    def __contains__(self, key: str) -> bool:
        return key in self._merges

    def merge(self, key: str, left: object, right: object) -> object:
        """The merged value.

        Raises:
            Unmergeable: if the values do not fit the policy.
        """
        if is_carried(key, [left, right], self._carried):
            return left
        return merge_values([("left", left), ("right", right)], self._merges[key])


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
    merging: _Merging | None = None,
) -> Joined:
    """Compare two sides and tell what the left one gets.

    Args:
        left: the side that is extended.
        right: the side that is joined to it.
        on_conflict: which side counts where a name stands in both with different values.
        rewrites: names that the right side is declared to rewrite: it counts, whatever stands on the left.
        history: tells what is known of the names, for messages.
        merging: makes one value of two where a policy is declared; what it cannot merge is a conflict.
    """
    gained: dict[PlacementName, dict[str, object]] = {}
    violations: list[Violation] = []
    leaves: list[tuple[PlacementName, str]] = []
    taken = set(left.names())
    for placement, store in right.by_placement():
        own, out = left.store(placement), gained.setdefault(placement, {})
        for key, value in store.items():
            if key not in own:
                elsewhere = left.find(key) if key in taken else None
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
            elif merging is not None and placement == "meta" and key in merging:
                try:
                    out[key] = merging.merge(key, own[key], value)
                except Unmergeable as problem:
                    if on_conflict == "right":
                        out[key] = value
                    elif on_conflict == "error":
                        violations.append(_conflict(key, placement, str(problem), history))
            elif own[key] is not value and (where := difference(own[key], value)) is not None:
                if on_conflict == "right":
                    out[key] = value
                elif on_conflict == "error":
                    violations.append(_conflict(key, placement, f"the sides differ: {where}", history))
    return Joined(Stores(*gained.values()), violations, tuple(leaves))


def _conflict(key: str, placement: PlacementName, actual: str, history: Callable[[], Mapping[str, str]]) -> Violation:
    known = history().get(key, "")
    return Violation(
        code="BP041",
        field=key,
        placement=placement,
        actual=actual + (f" (left {known})" if known else ""),
        expected="equal values, or on_conflict='left' or 'right'",
    )
