"""What somebody gives as a column, as one; objects by the one constructor, `column`."""

from __future__ import annotations

import numpy as np
import torch

from batchpact.dataproto.refusal import refuse
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column
from batchpact.schemas.stores import column as column


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
