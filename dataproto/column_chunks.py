"""Cutting the second axis of fields into rows, beside fields that are repeated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import torch

from batchpact.dataproto.columns import column
from batchpact.dataproto.refusal import refuse_all
from batchpact.dataproto.row_operations import RowOperations
from batchpact.dataproto.rows import repeat_rows
from batchpact.dataproto.selection import choose
from batchpact.dataproto.splitting import check_count
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation

B = TypeVar("B", bound=RowOperations)


def unfold_columns(data: B, n_split: int, split_keys: Sequence[str]) -> B:
    """The rows of a batch, each `n_split` times in a run, with a part of these fields in each."""
    data.check_consistency()
    check_count("unfold_column_chunks", "n_split", n_split)
    stores = data.stores()
    split_keys = [split_keys] if isinstance(split_keys, str) else split_keys
    in_columns = [key for key in split_keys if key in stores.columns]
    elsewhere = [key for key in split_keys if key not in stores.columns]
    chosen = choose("unfold_column_chunks", stores, (elsewhere, in_columns, ()))
    cut = _cut(chosen, int(n_split))
    others = data.batch
    if chosen.tensors:
        others = data._tensor_store(_without(stores.tensors, chosen.tensors), (len(data),))
    rest = data._derive(others, _without(stores.columns, chosen.columns), dict(data.meta_info))
    rest._bound = None
    rows = repeat_rows(len(data), int(n_split), interleave=True)
    unfolded = rest._take(rows)
    unfolded._put(cut, ())
    unfolded._marks = data._marks.take(rows)
    return unfolded


def _cut(chosen: Stores, parts: int) -> Stores:
    """These fields, `[batch, n, ...]`, as `[batch * parts, n // parts, ...]`."""
    wrong = []
    cut = Stores.empty()
    for placement, held in chosen.by_placement():
        for key, value in held.items():
            value = _with_axes(value)
            if isinstance(value, (torch.Tensor, np.ndarray)) and _can_be_cut(value, parts):
                rows, length, *shape = value.shape
                cast("dict[str, object]", cut.store(placement))[key] = value.reshape(
                    rows * parts, length // parts, *shape
                )
            else:
                expected = f"a dense field with a second axis that is a multiple of {parts}"
                wrong.append(Violation(code="BP043", field=key, actual=describe(value), expected=expected))
    if wrong:
        raise refuse_all("unfold_column_chunks", wrong)
    return cut


def _with_axes(value: object) -> object:
    """A column of lists that are equally long has a second axis here, as in verl; other fields are as they are."""
    if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim > 1:
        return value
    lengths = {len(cell) if isinstance(cell, (list, tuple)) else None for cell in value}
    length = lengths.pop() if len(lengths) == 1 else None
    if length is None:
        return value
    matrix = np.empty((len(value), length), dtype=object)
    for row, cell in enumerate(value):
        matrix[row] = column(cell)
    return matrix


def _can_be_cut(value: torch.Tensor | np.ndarray, parts: int) -> bool:
    nested = isinstance(value, torch.Tensor) and value.is_nested
    return not nested and value.ndim > 1 and value.shape[1] % parts == 0


def _without(held: Mapping[str, object], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in held.items() if key not in keys}
