"""Union: two sides of the same rows, compared in all three stores before anything is joined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from batchpact.dataproto.alignment import align
from batchpact.dataproto.carried import in_common
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.row_marks import UNMARKED, RowMarks
from batchpact.schemas.describe import STORE_NAMES
from batchpact.schemas.equality import difference
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.merging import is_one_object, merge_values
from batchpact.schemas.policies import Merge
from batchpact.schemas.reducing import Unmergeable
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
    bound = None if bound is None else bound.named_by([mine.meta, theirs.meta])
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
    own, others = (UNMARKED if rows is None else side._marks for rows, side in zip(counts, (left, right), strict=True))
    wrong = compare_marks(own, others)
    if wrong:
        raise refuse_all("union", wrong)
    merging = None
    if bound is not None and bound.merges:
        common = in_common([left.meta_info, right.meta_info], [left._carried, right._carried])
        merging = Merging(bound.merges, common.values)
    gained = union_stores(mine, theirs, on_conflict, right._rewrites, left.history, merging)
    if gained.violations:
        raise refuse_all("union", gained.violations)
    marks = own if own is others else own.joined_by(others, gained.stores.names())
    if left._bound is not None:
        left._bound.check(_merged(mine, gained), left.history(), pads=marks.pads)
    left._put(gained.stores, [key for _, key in gained.leaves])
    left._writers = {**left._writers, **right._writers}
    left._carried = left._carried.joined_by(right._carried)
    left._marks = marks


def _merged(left: Stores, gained: Joined) -> Stores:
    """What the left side holds after the union."""
    merged = []
    for placement, own in left.by_placement():
        stays = {key: value for key, value in own.items() if (placement, key) not in gained.leaves}
        merged.append({**stays, **gained.stores.store(placement)})
    return Stores(*merged[:3])


class Merging:
    """Values of both sides that a declared policy makes one of: meta, and rows that were computed anew (`close`).

    Args:
        merges: the policy of each key that has one.
        carried: the keys that both sides still have from one batch.
    """

    def __init__(self, merges: Mapping[str, Merge], carried: Collection[str] = ()) -> None:
        self._merges = merges
        self._carried = carried

    def applies(self, placement: PlacementName, key: str) -> bool:
        """Whether a policy says what becomes of a name that both sides have in this store."""
        return key in self._merges and (placement == "meta" or self._merges[key].how == "close")

    def merge(self, key: str, left: object, right: object) -> object:
        """The merged value.

        Raises:
            Unmergeable: if the values do not fit the policy.
        """
        if key in self._carried or is_one_object([left, right]):
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


def compare_marks(left: RowMarks, right: RowMarks) -> list[Violation]:
    """Two sides whose rows are other rows of a stage's input, or other pad rows, where both sides know it."""
    row = _first_difference(left.origin, right.origin)
    if row is not None and left.origin is not None and right.origin is not None:
        actual = f"row {row} is input row {left.origin[row]} on the left and input row {right.origin[row]} on the right"
    else:
        row = _first_difference(left.pads, right.pads)
        if row is None or left.pads is None:
            return []
        sides = ("left", "right") if left.pads[row] else ("right", "left")
        actual = f"row {row} is padding on the {sides[0]} and not on the {sides[1]}"
    expected = "a union joins fields of the same rows"
    hint = "one side was reordered or selected; do the same to the other"
    return [Violation(code="BP016", field="batch", actual=actual, expected=expected, hint=hint)]


def _first_difference(left: np.ndarray | None, right: np.ndarray | None) -> int | None:
    if left is None or right is None or left is right or np.array_equal(left, right):
        return None
    return int(np.flatnonzero(left != right)[0])


def union_stores(
    left: Stores,
    right: Stores,
    on_conflict: OnConflict,
    rewrites: frozenset[str],
    history: Callable[[], Mapping[str, str]],
    merging: Merging | None = None,
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
            elif merging is not None and merging.applies(placement, key):
                try:
                    merged = merging.merge(key, own[key], value)
                    if merged is not own[key]:
                        out[key] = merged
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
