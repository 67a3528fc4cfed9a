"""What in a batch cannot be pickled: pickle itself names neither the field nor the row."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from batchpact.dataproto.core import Batch, check_batch
from batchpact.schemas.describe import describe
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.text import listed_rows
from batchpact.schemas.violations import Violation


class _Found(NamedTuple):
    """Where in a value, as Python would reach it, stands what cannot be pickled, and what that is."""

    path: str
    what: str


def unpicklable(batch: Batch, dumps: Callable[[object], bytes] = pickle.dumps) -> list[Violation]:
    """Find what in a batch cannot be pickled; for the message of an error, when sending it has failed.

    Args:
        batch: it stays as it is.
        dumps: what pickles a value; `ray.cloudpickle.dumps` takes more than pickle does.

    Returns:
        A violation for each field and kind of value, with the path to it and the first rows that hold one.

    Raises:
        BatchError: if this is no batch, or it is not consistent.
    """
    check_batch("unpicklable", batch)
    found: list[Violation] = []
    for placement, held in batch.stores().by_placement():
        for key, value in held.items():
            found += _in_field(key, placement, value, dumps)
    schema = None if batch._bound is None else batch._bound.schema
    if schema is not None and _search(schema, dumps) is not None:
        hint = "pickle names a class by its module; bind one that stands at the top of a module"
        found.append(_violation("the bound schema", None, schema.__qualname__, hint))
    return found


def _in_field(
    key: str, placement: PlacementName, value: object, dumps: Callable[[object], bytes]
) -> Iterator[Violation]:
    if not (isinstance(value, np.ndarray) and placement == "non_tensor" and value.ndim == 1):
        found = _search(value, dumps)
        if found is not None:
            yield _violation(f"{key}{found.path}", placement, found.what)
        return
    if _pickles(value, dumps):
        return
    rows: dict[_Found, list[int]] = {}
    for row, cell in enumerate(value):
        found = _search(cell, dumps)
        if found is not None:
            rows.setdefault(found, []).append(row)
    for found, at in rows.items():
        yield _violation(f"{key}{found.path}", placement, f"{found.what} in {listed_rows(at)}")


def _search(value: object, dumps: Callable[[object], bytes], above: tuple[int, ...] = ()) -> _Found | None:
    """What cannot be pickled in a value, as far inside as possible."""
    if id(value) in above or _pickles(value, dumps):
        return None
    for step, part in _parts(value):
        found = _search(part, dumps, (*above, id(value)))
        if found is not None:
            return found._replace(path=f"{step}{found.path}")
    return _Found("", " ".join(filter(None, [describe(value), getattr(value, "__qualname__", "")])))


def _pickles(value: object, dumps: Callable[[object], bytes]) -> bool:
    try:
        dumps(value)
    except Exception:  # a user's own __reduce__ may raise anything
        return False
    return True


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """The parts of a value, each with the step that leads there."""
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{at}]", part) for at, part in enumerate(value))
    elif not isinstance(value, type):
        yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())


def _violation(field: str, placement: PlacementName | None, actual: str, hint: str = "") -> Violation:
    expected = "a value that can be pickled"
    return Violation(code="BP050", field=field, placement=placement, actual=actual, expected=expected, hint=hint)
