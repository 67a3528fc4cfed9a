"""Optional fields that only some parts have: filled in the others, as `Fill` says, and remembered as absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch

from batchpact.dataproto import nested
from batchpact.dataproto.columns import column
from batchpact.dataproto.row_marks import Mask
from batchpact.schemas.axes import Lengths, Size, is_jagged, ragged_axis
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.policies import PadValue
from batchpact.schemas.shapes import Dim
from batchpact.schemas.stores import Column, Stores


def fill_absent(
    schema: type[BatchSchema], parts: Sequence[Stores], rows: Sequence[int], sizes: Sequence[Mapping[str, Size]]
) -> tuple[list[Stores], list[dict[str, Mask]]]:
    """Give every part the optional fields with a `Fill` that another part has.

    A tensor gets the sizes that its dims have in the part itself, so that it fits beside the part's other fields.

    Args:
        schema: says which fields are filled, and with what.
        parts: the stores; they stay as they are.
        rows: the rows of each part.
        sizes: the size of each dim in each part, as far as it is known.

    Returns:
        The parts, with the fields that were filled in each: all of their rows are absent.
    """
    compiled = schema.__batchpact__
    filled = list(parts)
    absent: list[dict[str, Mask]] = [{} for _ in parts]
    for key, policies in compiled.policies.items():
        if policies.fill is None:
            continue
        placement, like = next(
            ((name, store[key]) for part in parts for name, store in part.by_placement() if key in store), (None, None)
        )
        for at, part in enumerate(parts):
            if part.find(key) is not None or not (part.tensors or part.columns):
                continue
            if placement == "tensor" and isinstance(like, torch.Tensor):
                dims = compiled.plan.tensor_places[key].dims if key in compiled.plan.tensor_places else ()
                made: object = _tensor(like, dims, rows[at], sizes[at], policies.fill.value)
                filled[at] = filled[at]._replace(tensors={**filled[at].tensors, key: made})
            elif placement == "non_tensor" and isinstance(like, np.ndarray):
                filled[at] = filled[at]._replace(
                    columns={**filled[at].columns, key: _column(like, rows[at], policies.fill.value)}
                )
            else:
                continue
            absent[at][key] = np.ones(rows[at], dtype=bool)
    return filled, absent


def _tensor(
    like: torch.Tensor, dims: Sequence[Dim], rows: int, sizes: Mapping[str, Size], value: PadValue
) -> torch.Tensor:
    """Rows that hold one value, with dtype and device of the rows that there are."""
    number = cast(float, value)
    if is_jagged(like):
        values, _, axis = nested.parts(like)
        lengths = sizes.get(dims[axis + 1].text) if len(dims) == like.dim() else None
        # Where no other field of the part says how long its rows are, they are empty.
        offsets = lengths.offsets if isinstance(lengths, Lengths) else torch.zeros(rows + 1, dtype=torch.int64)
        shape = list(values.shape)
        shape[axis] = int(offsets[-1])
        return nested.build(values.new_full(shape, number), offsets.to(values.device), ragged_axis(like) - 1)
    shape = [rows, *like.shape[1:]]
    if len(dims) == like.dim():
        plain = {name: size for name, size in sizes.items() if isinstance(size, int)}
        for axis in range(1, len(dims)):
            expression = dims[axis].as_expression()
            size = None if expression is None else expression.evaluate(plain)
            shape[axis] = shape[axis] if size is None else size
    return like.new_full(shape, number)


def _column(like: Column, rows: int, value: PadValue) -> Column:
    if like.dtype == object:
        return column([value] * rows)
    return np.full((rows, *like.shape[1:]), value, dtype=like.dtype)
