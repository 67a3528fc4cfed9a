"""Fields that only some rows have: filled in the others as `Fill` says, or named with the rows that lack them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from torch import Tensor

from batchpact.schemas.axes import Size, axes
from batchpact.schemas.declared_values import misfit
from batchpact.schemas.describe import STORE_NAMES
from batchpact.schemas.keys import Naming
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.policies import Fill
from batchpact.schemas.policy_specs import NO_POLICIES, Policies
from batchpact.schemas.stores import Column, Stores, column
from batchpact.schemas.tensor_place import TensorPlace
from batchpact.schemas.violations import Violation


def fill_rows(
    places: Mapping[str, TensorPlace],
    policies: Mapping[str, Policies],
    rows: Sequence[Stores],
    sizes: Sequence[dict[str, Size]],
    named: Naming,
) -> tuple[list[Stores], list[Violation]]:
    """Give every row the tensors and the objects that another row has; None in a row counts as lacking it.

    Args:
        places: the dims that each tensor has in a row.
        policies: the `Fill` of each field.
        rows: the values of each row; they stay as they are.
        sizes: the size of each dim in each row; what only a filled field has is added.
        named: puts rows into words.

    Returns:
        The rows with the same fields in all of them, and what cannot be filled.
    """
    filled = [_present(row) for row in rows]
    violations: list[Violation] = []
    if all(_same_fields(row, filled[0]) for row in filled):
        return filled, violations
    for key in dict.fromkeys(key for row in filled for key in (*row.tensors, *row.columns)):
        where: dict[PlacementName, list[int]] = {}
        for at, row in enumerate(filled):
            found = row.find(key)
            if found is not None:
                where.setdefault(found[0], []).append(at)
        if len(where) > 1:
            violations.append(_scattered(key, where, named))
            continue
        having = next(iter(where.values()))
        if len(having) == len(rows):
            continue
        like = filled[having[0]].find(key)
        fill = policies.get(key, NO_POLICIES).fill
        lacking = [at for at, row in enumerate(filled) if row.find(key) is None]
        wrong = _lacking(key, lacking, having, named) if fill is None else misfit(key, _held(like), fill)
        if wrong is not None:
            violations.append(wrong)
            continue
        for at in lacking:
            filled[at] = _filled(filled[at], key, _held(like), cast(Fill, fill), places.get(key), sizes[at])
    return filled, violations


def _present(row: Stores) -> Stores:
    """The values of a row without those that are None: there is one way to be absent."""
    if all(value is not None for store in (row.tensors, row.columns) for value in store.values()):
        return row
    tensors, columns = (
        {key: value for key, value in store.items() if value is not None} for store in (row.tensors, row.columns)
    )
    return row._replace(tensors=tensors, columns=columns)


def _same_fields(row: Stores, other: Stores) -> bool:
    return row.tensors.keys() == other.tensors.keys() and row.columns.keys() == other.columns.keys()


def _scattered(key: str, where: Mapping[PlacementName, Sequence[int]], named: Naming) -> Violation:
    order = list(STORE_NAMES)
    sides = sorted(where.items(), key=lambda side: order.index(side[0]))
    actual = " and ".join(f"in {STORE_NAMES[placement]} of {named(rows)}" for placement, rows in sides)
    return Violation(code="BP045", field=key, actual=actual, expected="one place for one name")


def _lacking(key: str, lacking: Sequence[int], having: Sequence[int], named: Naming) -> Violation:
    return Violation(
        code="BP042",
        field=key,
        actual=f"not in {named(lacking)}, present in {named(having)}",
        expected="every row has the same fields",
        hint="write it in every row, or declare Fill(value) for those that have none",
    )


def _held(found: tuple[PlacementName, object] | None) -> Tensor | Column:
    return cast("tuple[PlacementName, Tensor | Column]", found)[1]


def _filled(
    row: Stores, key: str, like: Tensor | Column, fill: Fill, place: TensorPlace | None, sizes: dict[str, Size]
) -> Stores:
    if not isinstance(like, Tensor):
        return row._replace(columns={**row.columns, key: column((fill.value,))})
    made = like.new_full(_shape(like, place, sizes), cast(float, fill.value))
    bound = (() if place is None else axes(place.dims, made)) or ()
    sizes.update({dim.name: size for dim, size in bound if dim.kind == "name" and dim.name is not None})
    return row._replace(tensors={**row.tensors, key: made})


def _shape(like: Tensor, place: TensorPlace | None, sizes: Mapping[str, Size]) -> list[int]:
    """The sizes that the row has already, where it has them, else those of another row, and no length where ragged."""
    shape = list(like.shape)
    if place is None or len(place.dims) != len(shape):
        return shape
    known = {name: size for name, size in sizes.items() if isinstance(size, int)}
    for axis, dim in enumerate(place.dims):
        expression = dim.as_expression()
        size = None if expression is None else expression.evaluate(known)
        if size is not None:
            shape[axis] = max(size, 0)
        elif axis == place.ragged:
            shape[axis] = 0
    return shape
