"""Two sides whose rows are the same by their keys: whether they stand in one order, and how to put them into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np

from batchpact.dataproto.row_marks import RowMarks
from batchpact.dataproto.rows import Rows
from batchpact.schemas.keys import RowKey, row_keys, shown_key
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Violation

_Label: TypeAlias = "tuple[RowKey, Hashable, int]"

_SHOWN = 3


def align(
    fields: Sequence[FieldSpec], left: tuple[Stores, RowMarks], right: tuple[Stores, RowMarks], *, realign: bool
) -> Rows | Violation | None:
    """Compare the rows of two sides by key.

    Args:
        fields: the fields that say which row is which.
        left: stores and marks of the side that stays.
        right: the same of the side that is joined.
        realign: whether the right side may be put into the order of the left.

    Returns:
        The rows of the right side in the order of the left; None where nothing has to be done, or a side does not have
        these fields; a violation where the sides do not agree.
    """
    keys, others = row_keys(fields, left[0]), row_keys(fields, right[0])
    if keys is None or others is None or keys == others:
        return None
    name = ", ".join(field.key for field in fields)
    pads = [side[1].pads for side in (left, right)]
    both = all(marks is not None for marks in pads)
    wanted, found = (_labels(side, marks if both else None) for side, marks in zip((keys, others), pads, strict=True))
    place = {label: row for row, label in enumerate(found)}
    lacking = [key for key, count in (Counter(keys) - Counter(others)).items() for _ in range(count)]
    extra = [key for key, count in (Counter(others) - Counter(keys)).items() for _ in range(count)]
    if lacking or extra or any(label not in place for label in wanted):
        actual = f"{_shown(lacking)} only on the left, {_shown(extra)} only on the right"
        return Violation(code="BP023", field=name, actual=actual, expected="a union joins fields of the same rows")
    if realign:
        return Rows(index=np.array([place[label] for label in wanted], dtype=np.int64))
    row = next(row for row, (one, two) in enumerate(zip(keys, others, strict=True)) if one != two)
    actual = f"row {row} is {shown_key(keys[row])} on the left and {shown_key(others[row])} on the right"
    expected = "the same rows in the same order"
    hint = "union(other, realign=True) puts the right side into the order of the left"
    return Violation(code="BP023", field=name, actual=actual, expected=expected, hint=hint)


def _labels(keys: Sequence[RowKey], pads: np.ndarray | None) -> list[_Label]:
    """What tells rows apart; pad rows have the keys of the rows that they copy, so the n-th of them counts."""
    seen: Counter[Hashable] = Counter()
    labels: list[_Label] = []
    for row, key in enumerate(keys):
        padding = None if pads is None else bool(pads[row])
        labels.append((key, padding, seen[(key, padding)]))
        seen[(key, padding)] += 1
    return labels


def _shown(keys: Sequence[RowKey]) -> str:
    if not keys:
        return "nothing"
    return join_names([shown_key(key) for key in keys], _SHOWN)
