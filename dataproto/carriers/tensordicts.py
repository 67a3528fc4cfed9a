"""Contracts on a plain `TensorDict`: columns are `NonTensorStack`s, meta is `NonTensorData`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import numpy as np
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict, TensorDictBase

from batchpact.dataproto.carriers.forgetful import Forgetful
from batchpact.dataproto.columns import column
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.tensors import Value, take
from batchpact.dataproto.withheld import HandedTensorDict
from batchpact.schemas.stores import Column, Stores


class TensorDictCarrier(Forgetful):
    """verl's newer protocol."""

    def stores(self, batch: TensorDictBase) -> Stores:
        tensors: dict[str, object] = {}
        columns: dict[str, object] = {}
        meta: dict[str, object] = {}
        for key, value in batch.items():
            if isinstance(value, NonTensorStack):
                columns[key] = column([cell.data for cell in value.unbind(0)])
            elif isinstance(value, NonTensorData):
                meta[key] = value.data
            else:
                tensors[key] = value
        return Stores(tensors, columns, meta)

    def hand_out(self, batch: TensorDictBase, terms: HandOut) -> TensorDict:
        wanted = (terms.tensors, terms.columns, terms.meta)
        everything = any(keys is None for keys in wanted)
        keys = set().union(*(keys for keys in wanted if keys is not None))
        chosen: dict[str, Any] = {key: value for key, value in batch.items() if everything or key in keys}
        chosen.update({key: _meta(value, batch.batch_size) for key, value in terms.extra_meta.items()})
        if terms.withheld is None:
            return TensorDict(chosen, batch_size=batch.batch_size, device=batch.device)
        return HandedTensorDict.hand(chosen, batch.batch_size, batch.device, terms.withheld)

    def make(self, like: TensorDictBase, fields: Stores, rows: int | None) -> TensorDict:
        size = torch.Size([like.batch_size[0] if rows is None else rows])
        return TensorDict(_entries(fields, size), batch_size=size, device=like.device)

    def copy(self, batch: TensorDictBase) -> TensorDict:
        return TensorDict(dict(batch.items()), batch_size=batch.batch_size, device=batch.device)

    def put(self, batch: TensorDictBase, fields: Stores, drops: Collection[str]) -> None:
        for key in drops:
            batch.pop(key, None)
        for key, value in _entries(fields, batch.batch_size).items():
            batch.set(key, cast(Any, value))

    def take(self, batch: TensorDictBase, rows: Rows) -> TensorDict:
        size = torch.Size([rows.count])
        taken: dict[str, object] = {}
        for key, value in batch.items():
            if isinstance(value, NonTensorStack):
                taken[key] = _stack(rows.of(column([cell.data for cell in value.unbind(0)])))
            elif isinstance(value, NonTensorData):
                taken[key] = _meta(value.data, size)
            else:
                taken[key] = take(cast(Value, value), rows)
        return TensorDict(taken, batch_size=size, device=batch.device)


def _entries(fields: Stores, size: torch.Size) -> dict[str, object]:
    """Fields as a TensorDict holds them."""
    entries: dict[str, object] = dict(fields.tensors)
    entries.update({key: _stack(value) for key, value in fields.columns.items() if isinstance(value, np.ndarray)})
    entries.update({key: _meta(value, size) for key, value in fields.meta.items()})
    return entries


def _stack(cells: Column) -> NonTensorStack:
    return NonTensorStack(*[NonTensorData(data=cell) for cell in cells])


def _meta(value: object, size: torch.Size) -> NonTensorData:
    return NonTensorData(data=value, batch_size=size)
