"""The Python types of cells and meta values: the narrowest that all of them have, and how it is written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import GenericAlias, NoneType
from typing import Any, get_args

import numpy as np

from batchpact.schemas.python_types import mismatch

_DEPTH = 3
"""So deep are types looked for inside of lists and dicts."""
_PLAIN = (bool, int, float, str, bytes)
_NUMPY_KINDS = {"f": float, "i": int, "u": int, "b": bool, "U": str}


def column_type(columns: Iterable[object]) -> Any:
    """A type that the cells of all these columns have."""
    cells: list[object] = []
    known: dict[object, None] = {}
    for column in columns:
        if isinstance(column, np.ndarray) and column.dtype.kind in _NUMPY_KINDS:
            known[_NUMPY_KINDS[column.dtype.kind]] = None
        elif isinstance(column, np.ndarray):
            cells += list(column.astype(object))
        else:
            return Any
    if cells or not known:
        known[common_type(cells)] = None
    if set(known) == {int, float}:
        return float
    return next(iter(known)) if len(known) == 1 else Any


def common_type(values: Iterable[object]) -> Any:
    """A type that all of these values have, under the strict look of a check; Any where they share nothing."""
    values = list(values)
    found = _common(values, 0)
    return found if all(mismatch(found, value) is None for value in values) else Any


def _common(values: Iterable[object], depth: int) -> Any:
    kinds: dict[type, list[object]] = {}
    for value in values:
        kinds.setdefault(type(value), []).append(value)
    nullable = kinds.pop(NoneType, None) is not None
    if set(kinds) == {int, float}:
        kinds = {float: []}
    if len(kinds) != 1:
        return Any
    found = next(_of_kind(kind, own, depth) for kind, own in kinds.items())
    return found | None if nullable and found is not Any else found


def _of_kind(kind: type, values: list[Any], depth: int) -> Any:
    if kind in _PLAIN:
        return kind
    if kind in (list, set, frozenset, tuple, dict) and depth < _DEPTH:
        inside: Any = _common((part for value in values for part in value), depth + 1)
        if kind is dict:
            held: Any = _common((part for value in values for part in value.values()), depth + 1)
            return GenericAlias(dict, (inside, held))
        return GenericAlias(kind, (inside, ...) if kind is tuple else (inside,))
    return kind if _is_importable(kind) and depth < _DEPTH else Any


def _is_importable(kind: type) -> bool:
    """Whether source can name a class: it stands under its name in its module, which an import can name too."""
    module = kind.__module__
    if module in ("builtins", "typing", "__main__") or not all(part.isidentifier() for part in module.split(".")):
        return False
    here: object = sys.modules.get(module)
    for part in kind.__qualname__.split("."):
        here = getattr(here, part, None)
    return here is kind


def modules_in(live: Any) -> Iterator[str]:
    """The modules that source with this type has to import."""
    if isinstance(live, type) and live.__module__ not in ("builtins", "typing"):
        yield live.__module__
    for part in get_args(live):
        yield from modules_in(part)
