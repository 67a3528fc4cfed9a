"""Joining plain stores, outside a batch: what `DataProto.union` does to one, by the same rules of equality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from tensordict import TensorDictBase

from batchpact.dataproto.build import columns_of
from batchpact.dataproto.entries import from_entries_alike, put_entries
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.schemas.describe import describe, describe_in_store
from batchpact.schemas.equality import difference
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.violations import Violation

T = TypeVar("T", bound=TensorDictBase)


def union_tensor_dict(tensor_dict1: T, tensor_dict2: TensorDictBase) -> T:
    """Join the fields of the second to the first, in place: tensors, and the columns and meta of verl's newer protocol.

    Args:
        tensor_dict1: what is extended.
        tensor_dict2: what is joined; it stays as it is, and shares its tensors.

    Returns:
        The first.

    Raises:
        BatchError: if their batch sizes differ, the first is locked, or a name has different values.
    """
    sizes = [list(side.batch_size) for side in (tensor_dict1, tensor_dict2)]
    if sizes[0] != sizes[1]:
        actual = f"batch size {sizes[0]} on the left, {sizes[1]} on the right"
        raise refuse("union_tensor_dict", "BP016", "batch", actual, "one batch size")
    gained = _gained("union_tensor_dict", *from_entries_alike([tensor_dict1, tensor_dict2]))
    if gained.names() and tensor_dict1.is_locked:
        expected = "one that can be written: tensor_dict1.unlock_()"
        raise refuse("union_tensor_dict", "BP045", "tensor_dict1", "a locked TensorDict", expected)
    put_entries(tensor_dict1, gained)
    return tensor_dict1


def union_numpy_dict(tensor_dict1: dict[str, Column], tensor_dict2: Mapping[str, Column]) -> dict[str, Column]:
    """Join the columns of the second to the first, in place.

    Args:
        tensor_dict1: what is extended.
        tensor_dict2: what is joined; it stays as it is, and shares its arrays.

    Returns:
        The first.

    Raises:
        BatchError: if something is no array, or a name has different values.
    """
    sides = (tensor_dict1, tensor_dict2)
    odd = {key: value for side in sides for key, value in side.items() if not isinstance(value, np.ndarray)}
    if odd:
        hint = "batchpact.dataproto.column(values) makes one"
        violations = [
            Violation(code="BP045", field=key, actual=describe(value), expected="a numpy array", hint=hint)
            for key, value in odd.items()
        ]
        raise refuse_all("union_numpy_dict", violations)
    gained = _gained("union_numpy_dict", *(Stores({}, side, {}) for side in sides))
    tensor_dict1.update(columns_of(gained))
    return tensor_dict1


def _gained(function: str, left: Stores, right: Stores) -> Stores:
    """What the right side adds, if the sides agree where both have a name."""
    wrong = []
    added: list[dict[str, object]] = []
    for placement, held in right.by_placement():
        added.append({key: value for key, value in held.items() if left.find(key) is None})
        for key, value in held.items():
            found = left.find(key)
            if found is None or (where := field_difference(found, (placement, value))) is None:
                continue
            wrong.append(
                Violation(
                    code="BP041",
                    field=key,
                    placement=placement,
                    actual=f"the sides differ: {where}",
                    expected="equal values",
                )
            )
    if wrong:
        raise refuse_all(function, wrong)
    return Stores(*added)


def field_difference(
    left: tuple[PlacementName, object], right: tuple[PlacementName, object], path: str = ""
) -> str | None:
    """How two fields differ: by value, or by the store that they stand in."""
    if left[0] == right[0]:
        return difference(left[1], right[1], path)
    sides = (describe_in_store(value, placement) for placement, value in (left, right))
    return (f"{path}: " if path else "") + " against ".join(sides)
