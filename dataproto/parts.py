"""What the parts of a concat must have in common, and in words what they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from batchpact.dataproto.tensors import Value
from batchpact.schemas.axes import is_dense, is_jagged, ragged_axis
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import listed
from batchpact.schemas.violations import Violation


def same_fields(filled: Sequence[tuple[int, Stores]]) -> bool:
    """Whether all parts have the same names in the same stores."""
    return all(
        part.tensors.keys() == filled[0][1].tensors.keys() and set(part.columns) == set(filled[0][1].columns)
        for _, part in filled
    )


def compare_fields(
    filled: Sequence[tuple[int, Stores]], histories: Sequence[Callable[[], Mapping[str, str]]]
) -> list[Violation]:
    """Every part must have every field, in the same store."""
    places: dict[str, dict[PlacementName, list[int]]] = {}
    for at, part in filled:
        for placement in ("tensor", "non_tensor"):
            for key in part.store(placement):
                places.setdefault(key, {}).setdefault(placement, []).append(at)
    violations = []
    for key, found in places.items():
        having = sorted(at for parts in found.values() for at in parts)
        lacking = [at for at, _ in filled if at not in having]
        if len(found) > 1:
            sides = " and ".join(
                f"in {STORE_NAMES[placement]} of {_parts(parts)}" for placement, parts in found.items()
            )
            violations.append(Violation(code="BP045", field=key, actual=sides, expected="one place for one name"))
        if lacking:
            known = next((text for at in having if (text := histories[at]().get(key))), "")
            actual = f"missing in {_parts(lacking)}, present in {_parts(having)}" + (f" ({known})" if known else "")
            violations.append(
                Violation(
                    code="BP042",
                    field=key,
                    placement=next(iter(found)),
                    actual=actual,
                    expected="every part has the same fields",
                    hint="the producer must write it for every part, or the field be left out of all",
                )
            )
    return violations


def alike(values: Sequence[Value]) -> bool:
    """Whether these are dense tensors with one dtype and one row shape: the common case, told without any words."""
    first = values[0]
    if not isinstance(first, torch.Tensor) or not is_dense(first):
        return False
    dtype, row = first.dtype, first.shape[1:]
    for value in values:
        if type(value) is not torch.Tensor or value.dtype is not dtype or value.shape[1:] != row:
            return False
        if value.layout is not torch.strided:
            return False
    return True


def compare_tensors(key: str, filled: Sequence[tuple[int, Stores]], padded: bool) -> list[Violation]:
    """A tensor has one dtype, layout and row shape in all parts; `padded` if its rows could be made equally long."""
    kinds: dict[str, list[int]] = {}
    for at, part in filled:
        kinds.setdefault(_kind(part.tensors[key]), []).append(at)
    if len(kinds) < 2:
        return []
    actual = ", ".join(f"{kind} in {_parts(parts)}" for kind, parts in kinds.items())
    hint = "concat(parts, pad=True) makes rows equally long" if padded else ""
    expected = "one dtype, layout and row shape"
    return [Violation(code="BP042", field=key, placement="tensor", actual=actual, expected=expected, hint=hint)]


def _kind(value: object) -> str:
    """What the rows of a tensor are like, in words: parts can be joined where this is the same."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    dtype = short_name(dtype_name(value.dtype))
    if is_jagged(value):
        axis = ragged_axis(value)
        sizes = [size for at, size in enumerate(value.values().shape) if at != axis - 1]
        return f"{dtype} jagged on axis {axis}, {sizes}"
    return describe(value) if value.is_nested else f"{dtype} rows of {list(value.shape[1:])}"


def compare_columns(key: str, filled: Sequence[tuple[int, Stores]]) -> list[Violation]:
    """A column has one kind of rows in all parts."""
    kinds: dict[str, list[int]] = {}
    for at, part in filled:
        value = part.columns[key]
        if isinstance(value, np.ndarray):
            kind = (
                "object"
                if value.dtype == object
                else value.dtype.kind
                if value.dtype.kind in "US"
                else value.dtype.name
            )
            kinds.setdefault(f"{kind} rows of {list(value.shape[1:])}", []).append(at)
    if len(kinds) < 2:
        return []
    actual = ", ".join(f"{kind} in {_parts(parts)}" for kind, parts in kinds.items())
    return [Violation(code="BP042", field=key, placement="non_tensor", actual=actual, expected="one kind of rows")]


def _parts(parts: Sequence[int]) -> str:
    return f"{'part' if len(parts) == 1 else 'parts'} {listed(parts)}"
