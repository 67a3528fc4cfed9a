"""What the parts of a concat must have in common, and in words what they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import torch

from batchpact.dataproto.tensors import Value
from batchpact.schemas.axes import is_dense, is_jagged, ragged_axis
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.dtypes import dtype_name, short_name
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import by_kind as kinds_of
from batchpact.schemas.text import listed
from batchpact.schemas.violations import Violation


def same_fields(filled: Sequence[tuple[int, Stores]]) -> bool:
    """Whether all parts have the same names in the same stores."""
    return all(
        part.tensors.keys() == filled[0][1].tensors.keys() and set(part.columns) == set(filled[0][1].columns)
        for _, part in filled
    )


def compare_fields(
    filled: Sequence[tuple[int, Stores]], histories: Sequence[Callable[[], Mapping[str, str]]], noun: str = "part"
) -> list[Violation]:
    """Every part must have every field, in the same store; `noun` is the word for a part."""
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
                f"in {STORE_NAMES[placement]} of {named_parts(parts, noun)}" for placement, parts in found.items()
            )
            violations.append(Violation(code="BP045", field=key, actual=sides, expected="one place for one name"))
        if lacking:
            known = next((text for at in having if (text := histories[at]().get(key))), "")
            actual = f"missing in {named_parts(lacking, noun)}, present in {named_parts(having, noun)}"
            actual += f" ({known})" if known else ""
            violations.append(
                Violation(
                    code="BP042",
                    field=key,
                    placement=next(iter(found)),
                    actual=actual,
                    expected=f"every {noun} has the same fields",
                    hint=f"the producer must write it for every {noun}, or the field be left out of all",
                )
            )
    return violations


def alike(values: Sequence[Value]) -> bool:
    """Whether these are dense tensors with one dtype, row shape and device: the common case, told without any words."""
    first = values[0]
    if not isinstance(first, torch.Tensor) or not is_dense(first):
        return False
    dtype, row, device = first.dtype, first.shape[1:], first.device
    for value in values:
        if type(value) is not torch.Tensor or not is_dense(value):
            return False
        if value.dtype is not dtype or value.shape[1:] != row or value.device != device:
            return False
    return True


def compare_tensors(key: str, filled: Sequence[tuple[int, Stores]], hint: str, noun: str = "part") -> list[Violation]:
    """A tensor has one dtype, layout and row shape in all parts; `hint` is said where only its lengths differ."""
    values = [(at, part.tensors[key]) for at, part in filled]
    kinds = [(at, row_kind(value)) for at, value in values]
    one = {kind for _, kind in kinds}
    if len(one) < 2:
        devices = [(at, str(value.device)) for at, value in values if isinstance(value, torch.Tensor)]
        if len({device for _, device in devices}) < 2:
            return []
        return [_differing(key, "tensor", by_kind(devices, noun), "one device")]
    tensors = [value for _, value in values if isinstance(value, torch.Tensor) and is_dense(value)]
    only_lengths = len(tensors) == len(values) and len({(value.dtype, value.dim()) for value in tensors}) == 1
    expected = "one dtype, layout and row shape"
    return [_differing(key, "tensor", by_kind(kinds, noun), expected, hint if only_lengths else "")]


def row_kind(value: object) -> str:
    """What the rows of a tensor are like, in words: parts can be joined where this is the same."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    dtype = short_name(dtype_name(value.dtype))
    if is_jagged(value):
        axis = ragged_axis(value)
        sizes = [size for at, size in enumerate(value.values().shape) if at != axis - 1]
        return f"{dtype} jagged on axis {axis}, {sizes}"
    return describe(value) if value.is_nested else f"{dtype} rows of {list(value.shape[1:])}"


def compare_columns(key: str, filled: Sequence[tuple[int, Stores]], noun: str = "part") -> list[Violation]:
    """A column has one kind of rows in all parts; texts may differ in their width."""
    columns = [(at, value) for at, part in filled if isinstance(value := part.columns[key], np.ndarray)]
    kinds = [(at, f"{_cell_kind(value.dtype)} rows of {list(value.shape[1:])}") for at, value in columns]
    if len({kind for _, kind in kinds}) < 2:
        return []
    return [_differing(key, "non_tensor", by_kind(kinds, noun), "one kind of rows")]


def by_kind(kinds: Iterable[tuple[int, str]], noun: str = "part") -> str:
    """Which parts have which kind, in words: `f32 rows of [3] in parts 0, 2, f64 rows of [3] in part 1`."""
    return kinds_of(kinds, lambda parts: named_parts(parts, noun))


def _cell_kind(dtype: np.dtype[np.generic]) -> str:
    return dtype.kind if dtype.kind in "US" else dtype.name


def _differing(key: str, placement: PlacementName, actual: str, expected: str, hint: str = "") -> Violation:
    return Violation(code="BP042", field=key, placement=placement, actual=actual, expected=expected, hint=hint)


def named_parts(parts: Sequence[int], noun: str = "part") -> str:
    """`part 3`, `ranks 0, 1`: parts by their numbers."""
    return f"{noun if len(parts) == 1 else f'{noun}s'} {listed(parts)}"
