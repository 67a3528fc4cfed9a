"""Which row is which: by the fields that are declared `Key()`, or `Group()` where there is no key."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
import torch

from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count, listed, quoted
from batchpact.schemas.violations import Violation

RowKey: TypeAlias = "tuple[Hashable, ...]"

_FIRST_ROWS = 3
_LONGEST = 40


def key_fields(spec: SchemaSpec) -> list[FieldSpec]:
    """The fields that together say which row is which."""
    return [field for field in spec.fields if field.role == "key"]


def row_keys(fields: Sequence[FieldSpec], stores: Stores) -> list[RowKey] | None:
    """The key of each row, or None where the batch does not have all of these fields. Reads values."""
    found = [_cells(field, stores) for field in fields]
    cells = [column for column in found if column is not None]
    if not cells or len(cells) < len(found) or len({len(column) for column in cells}) > 1:
        return None
    return list(zip(*cells, strict=True))


def repeated_key(spec: SchemaSpec, stores: Stores, pads: np.ndarray | None = None) -> Violation | None:
    """Rows that have the same key; rows that are marked as padding are copies and do not count."""
    fields = key_fields(spec)
    keys = row_keys(fields, stores) if fields else None
    if keys is None:
        return None
    rows: dict[RowKey, list[int]] = {}
    try:
        for row, key in enumerate(keys):
            if pads is None or not pads[row]:
                rows.setdefault(key, []).append(row)
    except TypeError:
        kinds = quoted(sorted({type(cell).__name__ for key in keys for cell in key}))
        return _violation(fields, f"cells of type {kinds} cannot be told apart", "a text or a number for each row", "")
    repeated = {key: at for key, at in rows.items() if len(at) > 1}
    if not repeated:
        return None
    key, at = next(iter(repeated.items()))
    actual = f"{shown_key(key)} in rows {listed(at, _FIRST_ROWS)}"
    more = len(repeated) - 1
    hint = "where rows may be copies of one another, the field is a Group()"
    return _violation(fields, actual + (f", and {count(more, 'other key')} like it" if more else ""), "", hint)


def shown_key(key: RowKey) -> str:
    """A key in a few words."""
    texts = [text if len(text := repr(part)) <= _LONGEST else f"{text[: _LONGEST - 3]}..." for part in key]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


class RowNames:
    """Rows in words: `rows 0 (uid 'a'), 4 (uid 'c') and 2 more` where the schema says what names a row."""

    def __init__(self, spec: SchemaSpec, stores: Stores) -> None:
        self._fields = key_fields(spec) or [field for field in spec.fields if field.role == "group"]
        self._stores = stores

    def __call__(self, rows: Sequence[int]) -> str:
        """These rows, the first of them with their names."""
        keys = row_keys(self._fields, self._stores) if self._fields else None
        names = ", ".join(field.key for field in self._fields)
        shown = [
            f"{row} ({names} {shown_key(keys[row])})" if keys is not None and row < len(keys) else str(row)
            for row in rows[:_FIRST_ROWS]
        ]
        more = len(rows) - len(shown)
        text = f"{'row' if len(rows) == 1 else 'rows'} {', '.join(shown)}"
        return f"{text} and {more} more" if more else text


def _cells(field: FieldSpec, stores: Stores) -> list[Hashable] | None:
    value = stores.tensors.get(field.key, stores.columns.get(field.key))
    if isinstance(value, torch.Tensor) and value.dim() == 1 and not value.is_nested:
        return list(value.detach().tolist())
    return list(value.tolist()) if isinstance(value, np.ndarray) and value.ndim == 1 else None


def _violation(fields: Sequence[FieldSpec], actual: str, expected: str, hint: str) -> Violation:
    names = ", ".join(field.key for field in fields)
    return Violation(code="BP023", field=names, actual=actual, expected=expected or "one row for one key", hint=hint)
