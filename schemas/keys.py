"""Which row is which: by the fields that are declared `Key()`, or `Group()` where there is no key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import torch

from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count, listed_rows
from batchpact.schemas.violations import Violation

RowKey: TypeAlias = "tuple[Hashable, ...]"

Naming: TypeAlias = "Callable[[Sequence[int]], str]"
"""Puts rows into words, by their numbers."""

_LONGEST = 40


def key_fields(spec: SchemaSpec) -> list[FieldSpec]:
    """The fields that together say which row is which."""
    return [field for field in spec.fields if field.role == "key"]


def row_keys(fields: Sequence[FieldSpec], stores: Stores) -> list[RowKey] | None:
    """The key of each row; None where there are no such fields, or the batch lacks one. Reads values."""
    found = [_cells(field, stores) for field in fields]
    cells = [column for column in found if column is not None]
    if not cells or len(cells) < len(found) or len({len(column) for column in cells}) > 1:
        return None
    return list(zip(*cells, strict=True))


def repeated_key(spec: SchemaSpec, stores: Stores, pads: np.ndarray | None = None) -> Violation | None:
    """Rows that have the same key; rows that are marked as padding are copies and do not count."""
    fields = key_fields(spec)
    keys = row_keys(fields, stores)
    if keys is None:
        return None
    names = _names(fields)
    real = keys if pads is None else [key for key, padding in zip(keys, pads.tolist(), strict=True) if not padding]
    if _all_differ(real):
        return None
    rows: dict[RowKey, list[int]] = {}
    for row, key in enumerate(keys):
        if pads is not None and pads[row]:
            continue
        try:
            rows.setdefault(key, []).append(row)
        except TypeError:
            actual = f"{shown_key(key)} in row {row} cannot be a key"
            return Violation(code="BP023", field=names, actual=actual, expected="a key is a text or a number")
    repeated = {key: at for key, at in rows.items() if len(at) > 1}
    key, at = next(iter(repeated.items()))
    more = f", and {count(len(repeated) - 1, 'other key')} like it" if len(repeated) > 1 else ""
    actual = f"{shown_key(key)} in {listed_rows(at)}{more}"
    hint = "where rows may be copies of one another, it is a Group()"
    return Violation(code="BP023", field=names, actual=actual, expected="one row for one key", hint=hint)


def _all_differ(keys: Sequence[RowKey]) -> bool:
    try:
        return len(set(keys)) == len(keys)
    except TypeError:  # one of them cannot be a key
        return False


def shown_key(key: RowKey) -> str:
    """A key in a few words."""
    texts = [_shown(part) for part in key]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _shown(part: object) -> str:
    text = repr(part.item() if isinstance(part, np.generic) else part).replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


class RowNames:
    """Rows in words: `rows 0 (uid 'a'), 4 (uid 'c') and 2 more` where the schema says what names a row.

    The keys do, where the batch has all of them, or else the groups.
    """

    def __init__(self, spec: SchemaSpec, stores: Stores) -> None:
        self._spec = spec
        self._stores = stores

    def __call__(self, rows: Sequence[int]) -> str:
        """These rows, the first of them with their names."""
        for fields in naming_fields(self._spec):
            keys = row_keys(fields, self._stores)
            if keys is not None:
                return listed_rows(rows, partial(_name, _names(fields), keys))
        return listed_rows(rows)


def naming_fields(spec: SchemaSpec) -> tuple[list[FieldSpec], list[FieldSpec]]:
    """What names a row: the keys or, where a row does not have them, the groups."""
    return key_fields(spec), [field for field in spec.fields if field.role == "group"]


def _name(fields: str, keys: Sequence[RowKey], row: int) -> str:
    return f"{row} ({fields} {shown_key(keys[row])})"


def _cells(field: FieldSpec, stores: Stores) -> list[Hashable] | None:
    value = stores.tensors.get(field.key, stores.columns.get(field.key))
    if isinstance(value, torch.Tensor) and value.dim() == 1 and not value.is_nested:
        return list(value.detach().tolist())
    return list(value.tolist()) if isinstance(value, np.ndarray) and value.ndim == 1 else None


def _names(fields: Sequence[FieldSpec]) -> str:
    return ", ".join(field.key for field in fields)
