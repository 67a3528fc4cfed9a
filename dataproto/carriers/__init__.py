"""The containers that contracts work on, without conversion: ours, `TensorDict`, and verl's own `DataProto`."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from tensordict import TensorDictBase

from batchpact.dataproto.carriers.ours import OurCarrier
from batchpact.dataproto.carriers.protocol import Carrier
from batchpact.dataproto.carriers.tensordicts import TensorDictCarrier
from batchpact.dataproto.carriers.verl import VerlCarrier
from batchpact.dataproto.container import DataProto

_STORES = {"batch", "non_tensor_batch", "meta_info"}

OURS: Carrier = OurCarrier()
_TENSOR_DICT: Carrier = TensorDictCarrier()
_VERL: Carrier = VerlCarrier()


@lru_cache(maxsize=512)
def carrier_for(kind: type) -> Carrier | None:
    """How contracts work on a kind of container; None for anything that is none."""
    if issubclass(kind, DataProto):
        return OURS
    if issubclass(kind, TensorDictBase):
        return _TENSOR_DICT
    if dataclasses.is_dataclass(kind) and {field.name for field in dataclasses.fields(kind)} >= _STORES:
        return _VERL if hasattr(kind, "__len__") else None  # a DataProtoItem has the stores, and no rows
    return None


def carrier_of(value: object) -> Carrier | None:
    """How contracts work on this value; None where it is no batch."""
    return carrier_for(type(value))  # type: ignore[arg-type]  # a class is hashable


__all__ = ["OURS", "Carrier", "carrier_for", "carrier_of"]
