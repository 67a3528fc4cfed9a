"""The value of a `Pad` or a `Fill` beside the field that is to hold it: numpy and torch would cast, cut or wrap it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from batchpact.schemas.describe import describe
from batchpact.schemas.dtypes import fits, torch_dtypes
from batchpact.schemas.policies import Fill, Pad
from batchpact.schemas.stores import Column
from batchpact.schemas.violations import Violation


def misfit(key: str, field: Tensor | Column, declared: Pad | Fill) -> Violation | None:
    """What is wrong with a declared value for a field of this dtype; None where the field holds it as it is."""
    if _holds(field.dtype, declared):
        return None
    number = isinstance(declared.value, (bool, int, float))
    return Violation(
        code="BP045",
        field=key,
        placement="tensor" if isinstance(field, Tensor) else "non_tensor",
        actual=f"{type(declared).__name__}({declared.value!r}) for {describe(field)}",
        expected="a value that the field can hold as it is",
        hint="" if isinstance(field, Tensor) or number else "a column of objects holds any value: column(values)",
    )


def _holds(dtype: torch.dtype | np.dtype[np.generic], declared: Pad | Fill) -> bool:
    value = declared.value
    if isinstance(dtype, torch.dtype):
        return isinstance(value, (bool, int, float)) and fits(value, dtype)
    if dtype.kind == "O":
        return True
    if dtype.kind == "U":  # rows that are filled join a text column of another width, pad rows stand in the column
        width = dtype.itemsize // np.dtype("U1").itemsize
        return isinstance(value, str) and (isinstance(declared, Fill) or len(value) <= width)
    same = torch_dtypes((dtype.name,))
    return isinstance(value, (bool, int, float)) and any(fits(value, dtype) for dtype in same)
