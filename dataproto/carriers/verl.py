"""Contracts on verl's own `DataProto`, known by its structure: verl is never imported."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, Protocol

from tensordict import TensorDict

from batchpact.dataproto.build import ThreeStores, columns_of, put, tensors_of
from batchpact.dataproto.carriers.forgetful import Forgetful
from batchpact.dataproto.handout import HandOut, hand_columns, hand_meta, hand_tensors
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.tensors import items, store, take_all
from batchpact.schemas.stores import Column, Stores


class VerlBatch(ThreeStores, Protocol):
    """verl's `DataProto`; its class is made from its three stores by keyword."""

    def __len__(self) -> int: ...


class VerlCarrier(Forgetful):
    """Everything that looks like verl's `DataProto`: a dataclass with its three stores."""

    def stores(self, batch: VerlBatch) -> Stores:
        return Stores(items(batch.batch), batch.non_tensor_batch, batch.meta_info)

    def hand_out(self, batch: VerlBatch, terms: HandOut) -> VerlBatch:
        return _new(
            batch,
            hand_tensors(batch.batch, terms),
            hand_columns(batch.non_tensor_batch, terms),
            hand_meta(batch.meta_info, terms),
        )

    def make(self, like: VerlBatch, fields: Stores, rows: int | None) -> VerlBatch:
        device = None if like.batch is None else like.batch.device
        batch = store(tensors_of(fields), (rows or 0,), device) if fields.tensors else None
        return _new(like, batch, columns_of(fields), dict(fields.meta))

    def copy(self, batch: VerlBatch) -> VerlBatch:
        held = batch.batch
        tensors = None if held is None else store(items(held), held.batch_size, held.device)
        return _new(batch, tensors, dict(batch.non_tensor_batch), dict(batch.meta_info))

    def put(self, batch: VerlBatch, fields: Stores, drops: Collection[str]) -> None:
        device = None if batch.batch is None else batch.batch.device
        put(batch, fields, drops, partial(store, device=device))

    def take(self, batch: VerlBatch, rows: Rows) -> VerlBatch:
        tensors = None
        if batch.batch is not None:
            taken = take_all(items(batch.batch), rows)
            tensors = store(taken, (rows.count, *batch.batch.batch_size[1:]), batch.batch.device)
        columns = {key: rows.of(column) for key, column in batch.non_tensor_batch.items()}
        return _new(batch, tensors, columns, dict(batch.meta_info))


def _new(like: VerlBatch, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any]) -> VerlBatch:
    made: VerlBatch = type(like)(batch=batch, non_tensor_batch=columns, meta_info=meta)  # type: ignore[call-arg]
    return made
