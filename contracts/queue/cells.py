"""Values of single rows, on their way through TransferQueue's own encoding, which is msgpack's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np
import torch

from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Column
from batchpact.schemas.text import listed_rows
from batchpact.schemas.violations import Violation

_PLAIN = (type(None), bool, int, float, str, bytes, np.ndarray, torch.Tensor)
"""Classes whose objects come back as they went in, whatever they hold."""
_KEYS = (type(None), bool, int, float, str, bytes, tuple)
"""Classes of the keys of a dict that do: a tuple, which comes back as a list elsewhere, is one there, too."""


def values_of(cells: Column) -> list[object]:
    """The values of a column; those of a numeric one are Python's own, as a `NonTensor[float]` says."""
    values: list[object] = cells.tolist()
    return values


def misfits(columns: Mapping[str, Column], placement: PlacementName) -> Iterator[Violation]:
    """The columns with cells that would come back as something else: a tuple as a list, a dataclass as a dict."""
    for key, cells in columns.items():
        wrong = [(row, what) for row, value in enumerate(values_of(cells)) if (what := _changed(value)) is not None]
        if wrong:
            at = listed_rows([row for row, _ in wrong])
            expected = "TransferQueue gives lists, dicts, text, numbers, arrays and objects back as they are"
            actual = f"{wrong[0][1]} in {at}"
            yield Violation(code="BP055", field=key, placement=placement, actual=actual, expected=expected)


def _changed(value: object, path: str = "") -> str | None:
    """The first part of a value that msgpack has a form of its own for, which is not that of the value."""
    kind = type(value)
    if kind in _PLAIN:
        return None
    parts: Iterable[tuple[str, object]]
    if isinstance(value, list) and kind is list:
        parts = ((f"[{at}]", part) for at, part in enumerate(value))
    elif isinstance(value, dict) and kind is dict:
        odd = next((key for key in value if type(key) not in _KEYS), None)
        if odd is not None:
            return f"dict with the key {odd!r}{path}"
        parts = ((f"[{key!r}]", part) for key, part in value.items())
    else:
        return _own_form(value, path)
    return next((what for name, part in parts if (what := _changed(part, f"{path or ' at '}{name}")) is not None), None)


def _own_form(value: object, path: str) -> str | None:
    unknown: list[object] = []
    msgspec.msgpack.encode(value, enc_hook=unknown.append)
    if unknown and unknown[0] is value:  # TransferQueue pickles what msgpack does not know
        return None
    return f"{type(value).__name__}{path}"
