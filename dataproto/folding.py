"""Folding rows into groups, `[rows, ...]` into `[groups, rows of a group, ...]`, and back."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import torch

from batchpact.dataproto.core import Batch, check_batch
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.row_marks import UNMARKED, RowMarks
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.splitting import check_count
from batchpact.dataproto.tensors import items
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column
from batchpact.schemas.text import count, join_names
from batchpact.schemas.violations import Violation

B = TypeVar("B", bound=Batch)


def fold_batch_dim(data: B, new_batch_size: int) -> B:
    """Make groups of neighbouring rows: a field `[batch, ...]` becomes `[new_batch_size, rows of a group, ...]`.

    A group has a field of its own, in the words of `presence`, where all of its rows have.

    Args:
        data: the batch; it stays as it is, and shares its tensors where their memory allows.
        new_batch_size: the number of groups; each is a row of the result.

    Raises:
        BatchError: if the rows do not make groups of one size, a tensor is nested, or a group is padding only in part.
    """
    check_batch("fold_batch_dim", data)
    check_count("fold_batch_dim", "new_batch_size", new_batch_size)
    rows, groups = len(data), int(new_batch_size)
    size, rest = divmod(rows, groups)
    if rest:
        actual = f"{count(rows, 'row')} into {groups} groups"
        raise refuse("fold_batch_dim", "BP043", "new_batch_size", actual, "groups of equal size")
    _check_dense("fold_batch_dim", data)
    marks = data._marks.pads
    pads = None if marks is None else marks.reshape(groups, size)
    mixed = np.empty(0) if pads is None else np.flatnonzero(pads.any(axis=1) & ~pads.all(axis=1))
    if len(mixed):
        group = int(mixed[0])
        actual, hint = f"group {group} is padding in part", "unpad_dataproto removes pad rows"
        raise refuse("fold_batch_dim", "BP043", "batch", actual, "groups of rows that all are padding, or none", hint)
    folded = _reshaped(data, 1, (groups, size), groups)
    absent = {key: np.asarray(mask.reshape(groups, size).any(axis=1)) for key, mask in data._marks.absent.items()}
    folded._marks = RowMarks(pads=None if pads is None else np.asarray(pads.any(axis=1)), absent=absent)
    return folded


def unfold_batch_dim(data: B, batch_dims: int = 2) -> B:
    """Make rows of groups: the leading axes of every field become its batch axis.

    Args:
        data: the batch; it stays as it is, and shares its tensors where their memory allows.
        batch_dims: how many leading axes.

    Raises:
        BatchError: if the fields do not share these axes, or a tensor is nested.
    """
    check_batch("unfold_batch_dim", data)
    check_count("unfold_batch_dim", "batch_dims", batch_dims)
    _check_dense("unfold_batch_dim", data)
    leads: dict[tuple[int, ...], list[str]] = {}
    for key, value in {**items(data.batch), **data.non_tensor_batch}.items():
        leads.setdefault(tuple(value.shape[:batch_dims]), []).append(key)
    if len(leads) > 1 or any(len(lead) < batch_dims for lead in leads):
        listed = ", ".join(f"{list(lead)} in {join_names(keys)}" for lead, keys in leads.items())
        expected = (
            f"all fields share their first {count(batch_dims, 'axis') if batch_dims == 1 else f'{batch_dims} axes'}"
        )
        raise refuse("unfold_batch_dim", "BP016", "batch", listed, expected)
    lead = next(iter(leads), (len(data),))
    rows = math.prod(lead)
    unfolded = _reshaped(data, len(lead), (rows,), rows)
    if data._marks is not UNMARKED:
        each = np.repeat(np.arange(len(data), dtype=np.int64), math.prod(lead[1:]))
        unfolded._marks = data._marks._replace(origin=None).take(Rows(index=each))
    return unfolded


def _reshaped(data: B, axes: int, lead: tuple[int, ...], rows: int) -> B:
    """The batch with other leading axes in place of its first ones; no schema and no origin of rows fits it then."""
    batch = data.batch
    if batch is not None:
        tensors = {key: value.reshape(*lead, *value.shape[axes:]) for key, value in items(batch).items()}
        batch = data._tensor_store(tensors, (rows,))
    columns: dict[str, Column] = {
        key: column.reshape(*lead, *column.shape[axes:]) for key, column in data.non_tensor_batch.items()
    }
    made = data._derive(batch, columns, dict(data.meta_info))
    made._bound = None
    return made


def _check_dense(operation: str, data: Batch) -> None:
    nested = {key: v for key, v in items(data.batch).items() if isinstance(v, torch.Tensor) and v.is_nested}
    if nested:
        expected = "a dense tensor: rows of different lengths make no axis"
        raise refuse_all(
            operation,
            [
                Violation(code="BP045", field=key, placement="tensor", actual=describe(value), expected=expected)
                for key, value in nested.items()
            ],
        )
