"""How values begin, in one line: text, numbers and the first elements of containers. Tensors are never read."""

from __future__ import annotations

from itertools import islice

import numpy as np

from batchpact.schemas.describe import describe

_LINE = 60
_PREVIEW = 400
_TEXT = 200
_ELEMENTS = 5
_DEPTH = 3
_CELLS = 5


def one_line(text: str, most: int = _LINE) -> str:
    """A text of at most so many characters that all print, whatever is in it."""
    start = text[: most + 1]
    shown = start if start.isprintable() else repr(start)[1:-1]
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def preview(value: object) -> str:
    """How a value begins; of what is neither text, number nor container it says what it is."""
    return one_line(_begin(value, _DEPTH), _PREVIEW)


def first_cells(column: object) -> list[str]:
    """How the first cells of a column begin; empty for what is no column."""
    if not isinstance(column, np.ndarray) or not column.ndim:
        return []
    return [preview(cell) if column.dtype == object else _numbers(cell) for cell in column[:_CELLS]]


def _begin(value: object, depth: int) -> str:
    if isinstance(value, str):
        return repr(f"{value[:_TEXT]}..." if len(value) > _TEXT else str(value))
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if not isinstance(value, (list, tuple, set, frozenset, dict)) or not depth:
        return describe(value)
    if isinstance(value, dict):
        pairs = islice(value.items(), _ELEMENTS)
        parts = [f"{_begin(key, depth - 1)}: {_begin(element, depth - 1)}" for key, element in pairs]
    else:
        parts = [_begin(element, depth - 1) for element in islice(value, _ELEMENTS)]
    start, end = ("[", "]") if isinstance(value, list) else ("(", ")") if isinstance(value, tuple) else ("{", "}")
    more = ["..."] if len(value) > _ELEMENTS else []
    return f"{start}{', '.join(parts + more)}{end}"


def _numbers(cell: object) -> str:
    """A cell of a numeric column, or of one of numpy's texts."""
    if not isinstance(cell, np.ndarray):
        return preview(cell) if isinstance(cell, str) else one_line(str(cell))
    shown = np.array2string(cell, threshold=_ELEMENTS, edgeitems=2, separator=", ")
    return one_line(" ".join(shown.split()), _PREVIEW)
