"""Object columns: one constructor, one-dimensional whatever the rows are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from batchpact.dataproto.refusal import refuse
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column


def column(values: Iterable[object]) -> Column:
    """A column with one object per row.

    `np.array(rows, dtype=object)` makes a matrix of rows that happen to have equal lengths; this never does.

    Args:
        values: one object per row; they are taken as they are.

    Returns:
        A one-dimensional object array.
    """
    rows = values if isinstance(values, Sequence) else list(values)
    return np.fromiter(rows, dtype=object, count=len(rows))


def as_column(operation: str, key: str, value: object) -> Column:
    """What somebody gave as a column, as one: lists become object columns, numeric arrays stay what they are."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            raise refuse(operation, "BP045", key, "an array without rows", "a column has one value per row")
        if value.dtype == object and value.ndim > 1:
            # np.array([[1, 2], [3, 4]], dtype=object) was meant as two rows that are lists.
            return column([row.tolist() for row in value])
        return value
    if isinstance(value, (list, tuple)):
        return column(value)
    if isinstance(value, torch.Tensor):
        raise refuse(
            operation, "BP045", key, f"tensor {describe(value)}", "a tensor goes into tensors, not into non_tensors"
        )
    expected = "a column is a list or a numpy array with one value per row; one value for the batch goes into meta_info"
    raise refuse(operation, "BP045", key, describe(value), expected)
