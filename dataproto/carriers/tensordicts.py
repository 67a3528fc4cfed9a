"""Contracts on a plain `TensorDict`: columns are `NonTensorStack`s, meta is `NonTensorData`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.carriers.forgetful import Forgetful
from batchpact.dataproto.entries import from_entries, meta_entry, put_entries, take_fields, tensordict_of
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.withheld import HandedTensorDict
from batchpact.schemas.stores import Stores


class TensorDictCarrier(Forgetful):
    """verl's newer protocol."""

    def stores(self, batch: TensorDictBase) -> Stores:
        return from_entries(batch)

    def hand_out(self, batch: TensorDictBase, terms: HandOut) -> TensorDict:
        wanted = (terms.tensors, terms.columns, terms.meta)
        everything = any(keys is None for keys in wanted)
        keys = set().union(*(keys for keys in wanted if keys is not None))
        chosen: dict[str, Any] = {key: value for key, value in batch.items() if everything or key in keys}
        chosen.update({key: meta_entry(value, batch.batch_size) for key, value in terms.extra_meta.items()})
        if terms.withheld is None:
            return TensorDict(chosen, batch_size=batch.batch_size, device=batch.device)
        return HandedTensorDict.hand(chosen, batch.batch_size, batch.device, terms.withheld)

    def make(self, like: TensorDictBase, fields: Stores, rows: int | None) -> TensorDict:
        size = torch.Size([like.batch_size[0] if rows is None else rows])
        return tensordict_of(fields, size, like.device)

    def copy(self, batch: TensorDictBase) -> TensorDict:
        return TensorDict(dict(batch.items()), batch_size=batch.batch_size, device=batch.device)

    def put(self, batch: TensorDictBase, fields: Stores, drops: Collection[str]) -> None:
        for key in drops:
            batch.pop(key, None)
        put_entries(batch, fields)

    def take(self, batch: TensorDictBase, rows: Rows) -> TensorDict:
        return tensordict_of(take_fields(from_entries(batch), rows), torch.Size([rows.count]), batch.device)
