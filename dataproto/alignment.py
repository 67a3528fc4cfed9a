"""Two sides whose rows are the same by their keys: whether they stand in one order, and how to put them into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from batchpact.dataproto.row_marks import Mask, RowMarks
from batchpact.dataproto.rows import Rows
from batchpact.schemas.keys import RowKey, row_keys, shown_key
from batchpact.schemas.record import FieldSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import join_names
from batchpact.schemas.violations import Violation

_SHOWN = 3


class _Label(NamedTuple):
    """What tells a row from all others: pad rows have the keys of the rows that they copy, so the n-th of them counts.

    Where one of the sides does not know its pad rows, nobody is padding: a key is there once or cannot be told apart.
    """

    key: RowKey
    padding: bool
    nth: int

    def __str__(self) -> str:
        return shown_key(self.key) + (" (padding)" if self.padding else " (again)" if self.nth else "")


def align(
    fields: Sequence[FieldSpec], left: tuple[Stores, RowMarks], right: tuple[Stores, RowMarks], *, realign: bool
) -> Rows | Violation | None:
    """Compare the rows of two sides by key.

    Args:
        fields: the fields that say which row is which.
        left: stores and marks of the side that stays.
        right: the same of the side that is joined.
        realign: whether the right side is put into the order of the left.

    Returns:
        The rows of the right side in the order of the left; None where nothing has to be done, or a side does not have
        these fields and nothing asks for it; a violation where the sides do not agree.
    """
    if all(_one_object(left[0].find(field.key), right[0].find(field.key)) for field in fields):
        return None  # nothing is read, as on a device that would synchronise
    name = ", ".join(field.key for field in fields)
    keys, others = row_keys(fields, left[0]), row_keys(fields, right[0])
    if keys is None or others is None:
        if not realign:
            return None
        side = "left" if keys is None else "right"
        return Violation(code="BP023", field=name, actual=f"not on the {side}", expected="a key on both sides")
    pads = left[1].pads, right[1].pads
    known = pads[0] is not None and pads[1] is not None
    try:
        wanted, found = _labels(keys, pads[0] if known else None), _labels(others, pads[1] if known else None)
    except TypeError as error:
        return Violation(code="BP023", field=name, actual=str(error), expected="a key is a text or a number")
    if wanted == found:
        return None
    place = {label: row for row, label in enumerate(found)}
    own = set(wanted)
    lacking, extra = [label for label in wanted if label not in place], [label for label in found if label not in own]
    if lacking or extra:
        actual = f"{_shown(lacking)} only on the left, {_shown(extra)} only on the right"
        return Violation(code="BP023", field=name, actual=actual, expected="a union joins fields of the same rows")
    copy = None if known else next((label for label in wanted if label.nth), None)
    if copy is not None:
        actual = f"{shown_key(copy.key)} in several rows, in another order on each side"
        expected = "one row for one key, or two sides that know their pad rows"
        return Violation(code="BP023", field=name, actual=actual, expected=expected)
    if realign:
        return Rows(index=np.array([place[label] for label in wanted], dtype=np.int64))
    row = next(row for row, (one, two) in enumerate(zip(wanted, found, strict=True)) if one != two)
    actual = f"row {row} is {wanted[row]} on the left and {found[row]} on the right"
    expected = "the same rows in the same order"
    hint = "union(other, realign=True) puts the right side into the order of the left"
    return Violation(code="BP023", field=name, actual=actual, expected=expected, hint=hint)


def _one_object(left: tuple[str, object] | None, right: tuple[str, object] | None) -> bool:
    return left is not None and right is not None and left[1] is right[1]


def _labels(keys: Sequence[RowKey], pads: Mask | None) -> list[_Label]:
    seen: Counter[Hashable] = Counter()
    labels: list[_Label] = []
    for row, key in enumerate(keys):
        padding = pads is not None and bool(pads[row])
        labels.append(_Label(key, padding, seen[key, padding]))
        seen[key, padding] += 1
    return labels


def _shown(labels: Sequence[_Label]) -> str:
    return join_names(list(dict.fromkeys(map(str, labels))), _SHOWN) if labels else "nothing"
