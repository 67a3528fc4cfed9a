"""Optional fields that only some parts have: filled in the others, as `Fill` says, and remembered as absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.columns import column
from batchpact.dataproto.row_marks import Mask
from batchpact.schemas.axes import Lengths, Size, axes, is_dense, is_jagged
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.declared_values import misfit
from batchpact.schemas.policies import PadValue
from batchpact.schemas.shapes import Dim
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.violations import Violation


def fill_absent(
    schema: type[BatchSchema],
    parts: Sequence[Stores],
    rows: Sequence[int],
    sizes: Callable[[int], dict[str, Size]],
) -> tuple[list[Stores], list[dict[str, Mask]], list[Violation]]:
    """Give every part the optional fields with a `Fill` that another part has.

    A tensor gets the sizes that its dims have in the part itself, so that it fits beside the part's other fields.

    Args:
        schema: says which fields are filled, and with what.
        parts: the stores; they stay as they are.
        rows: the rows of each part.
        sizes: gives the size of each dim in a part, as far as it is known; what only filled fields have is added.

    Returns:
        The parts; the fields that were filled in each, absent in all of its rows; and what the values do not fit.
    """
    compiled = schema.__batchpact__
    filled = list(parts)
    absent: list[dict[str, Mask]] = [{} for _ in parts]
    violations: list[Violation] = []
    for key, policies in compiled.policies.items():
        lacking = [at for at, part in enumerate(parts) if part.find(key) is None and (part.tensors or part.columns)]
        held = (part.tensors.get(key, part.columns.get(key)) for part in parts)
        like = next((value for value in held if _can_be_filled(value)), None)
        if policies.fill is None or like is None or not lacking:
            continue
        wrong = misfit(key, cast("Tensor | Column", like), policies.fill)
        if wrong is not None:
            violations.append(wrong)
            continue
        for at in lacking:
            part, value = filled[at], policies.fill.value
            if isinstance(like, Tensor):
                known = sizes(at)
                dims = compiled.plan.tensor_places[key].dims if key in compiled.plan.tensor_places else ()
                made = _tensor(like, dims, rows[at], known, value)
                known.update(
                    {dim.name: size for dim, size in axes(dims, made) or () if dim.kind == "name" and dim.name}
                )
                filled[at] = part._replace(tensors={**part.tensors, key: made})
            else:
                filled[at] = part._replace(columns={**part.columns, key: _column(cast(Column, like), rows[at], value)})
            absent[at][key] = np.ones(rows[at], dtype=bool)
    return filled, absent, violations


def _can_be_filled(value: object) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, Tensor) and (is_dense(value) or is_jagged(value)))


def _tensor(like: Tensor, dims: Sequence[Dim], rows: int, sizes: Mapping[str, Size], value: PadValue) -> Tensor:
    """Rows that hold one value, with dtype and device of the rows that there are, in the sizes that are known."""
    number = cast(float, value)
    declared = dims if len(dims) == like.dim() else ()
    if is_jagged(like):
        values, _, axis = nested.parts(like)
        ends = _offsets(declared[axis + 1], rows, sizes) if declared else torch.zeros(rows + 1, dtype=torch.int64)
        shape = list(values.shape)
        shape[axis] = int(ends[-1])
        return nested.build(values.new_full(shape, number), ends.to(values.device), axis)
    shape = [rows, *like.shape[1:]]
    plain = {name: size for name, size in sizes.items() if isinstance(size, int)}
    for axis, dim in enumerate(declared):
        expression = dim.as_expression() if axis else None
        size = None if expression is None else expression.evaluate(plain)
        shape[axis] = shape[axis] if size is None else size
    return like.new_full(shape, number)


def _offsets(dim: Dim, rows: int, sizes: Mapping[str, Size]) -> Tensor:
    """Where the rows of a ragged axis start; empty rows, where no other field of the part says how long they are."""
    known = sizes.get(dim.text)
    if isinstance(known, Lengths):
        return known.offsets
    expression = dim.as_expression()
    linear = None if expression is None else expression.linear()
    lengths = torch.zeros(rows, dtype=torch.int64)
    if linear is not None and all(name in sizes for name, _ in linear[1]):
        for name, factor in linear[1]:
            size = sizes[name]
            lengths = lengths + factor * (size.per_row().cpu() if isinstance(size, Lengths) else size)
        lengths = lengths + linear[0]
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])


def _column(like: Column, rows: int, value: PadValue) -> Column:
    if like.dtype == object:
        return column([value] * rows)
    dtype = np.asarray(value).dtype if like.dtype.kind == "U" else like.dtype  # concat takes texts of any width
    return np.full((rows, *like.shape[1:]), value, dtype=dtype)
