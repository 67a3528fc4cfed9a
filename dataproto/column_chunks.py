"""Cutting the second axis of fields into rows, beside fields that are repeated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from batchpact.dataproto import build
from batchpact.dataproto.core import Batch
from batchpact.dataproto.refusal import refuse_all
from batchpact.dataproto.tensors import items
from batchpact.schemas.describe import STORE_NAMES, describe
from batchpact.schemas.errors import MissingFieldError
from batchpact.schemas.stores import Column
from batchpact.schemas.violations import Violation


def cut_columns(data: Batch, parts: int, keys: Sequence[str]) -> tuple[dict[str, torch.Tensor], dict[str, Column]]:
    """The fields of these names, `[batch, n, ...]`, as `[batch * parts, n // parts, ...]`.

    Raises:
        MissingFieldError: naming every key that is neither a tensor nor a column.
        BatchError: naming every field whose second axis cannot be cut so.
    """
    held = {**items(data.batch), **data.non_tensor_batch}
    missing = [_missing(key, data) for key in keys if key not in held]
    if missing:
        raise MissingFieldError("in DataProto.unfold_column_chunks; nothing was changed", missing)
    tensors: dict[str, torch.Tensor] = {}
    columns: dict[str, Column] = {}
    wrong = []
    for key in dict.fromkeys(keys):
        value = held[key]
        if not _can_be_cut(value, parts):
            expected = f"a dense field with a second axis that is a multiple of {parts}"
            wrong.append(Violation(code="BP043", field=key, actual=describe(value), expected=expected))
        elif isinstance(value, np.ndarray):
            columns[key] = value.reshape(len(value) * parts, value.shape[1] // parts, *value.shape[2:])
        else:
            tensors[key] = value.reshape(value.shape[0] * parts, value.shape[1] // parts, *value.shape[2:])
    if wrong:
        raise refuse_all("unfold_column_chunks", wrong)
    return tensors, columns


def _can_be_cut(value: object, parts: int) -> bool:
    if isinstance(value, torch.Tensor) and value.is_nested:
        return False
    return isinstance(value, (torch.Tensor, np.ndarray)) and value.ndim > 1 and value.shape[1] % parts == 0


def _missing(key: str, data: Batch) -> Violation:
    return build._missing(key, f"{STORE_NAMES['tensor']} or {STORE_NAMES['non_tensor']}", {}, data.stores())
