"""A call of a function of plain values: which fields of a batch it was given."""

from __future__ import annotations

from types import FrameType

import numpy as np
from torch import Tensor

from batchpact.contracts.tracing.calls import Call, is_same
from batchpact.contracts.tracing.frames import defaults, home
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.stores import Stores


def plain_call(frame: FrameType, given: dict[str, object], held: Stores, *, named: bool) -> Call | None:
    """The call of a function that is given what a batch holds, and not the batch.

    A tensor or a column is the field that is the same memory, else, in a function that was named, one that is called
    like the parameter. Plain numbers and texts are arguments.

    Args:
        frame: the frame of the call.
        given: its arguments.
        held: what the batch holds that its caller has.
        named: whether somebody named the function, or its module.

    Returns:
        None where nothing of the batch was given to a function that nobody named.
    """
    tensors: dict[str, object] = {}
    columns: dict[str, object] = {}
    arguments: dict[str, object] = {}
    stores: dict[PlacementName, dict[str, object]] = {"tensor": tensors, "non_tensor": columns, "arg": arguments}
    call = Call(frame.f_code.co_name, home(frame), Stores(tensors, columns, {}, arguments), held, unpacked=True)
    own, found_any = defaults(frame), False
    for parameter, value in given.items():
        found = _field_of(held, parameter, value)
        if found is not None:
            found_any = True
            placement, key = found
            if key != parameter:
                call.names[parameter] = key
        elif isinstance(value, (bool, int, float, str)):
            placement, key = "arg", parameter
            if isinstance(own.get(parameter), (bool, int, float, str)):
                call.defaults[parameter] = own[parameter]
        elif isinstance(value, (Tensor, np.ndarray)) and value.ndim:
            placement, key = "tensor" if isinstance(value, Tensor) else "non_tensor", parameter
        else:
            continue
        stores[placement][key] = value
        call.looked.append(key)
    return call if found_any or named else None


def _field_of(held: Stores, parameter: str, value: object) -> tuple[PlacementName, str] | None:
    """The field of a batch that is this very value; where several are, the one that is called like the parameter."""
    found: list[tuple[PlacementName, str]] = []
    for placement, store in held.by_placement():
        for key in store:
            if is_same(store[key], value):
                found.append((placement, key))
    return next((field for field in found if field[1] == parameter), found[0] if found else None)
