"""Contracts on verl's own `DataProto`, known by its structure: verl is never imported."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from tensordict import TensorDict

from batchpact.dataproto.build import columns_of, leading_sizes, tensors_of
from batchpact.dataproto.carriers.forgetful import Forgetful
from batchpact.dataproto.handout import HandOut, hand_columns, hand_meta, hand_tensors
from batchpact.dataproto.rows import Rows
from batchpact.dataproto.tensors import items, store, take_all
from batchpact.schemas.stores import Column, Stores


class VerlBatch(Protocol):
    """The three stores that verl's `DataProto` has; its class is made from them by keyword."""

    batch: TensorDict | None
    non_tensor_batch: dict[str, Column]
    meta_info: dict[str, Any]

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
        for held in (batch.batch, batch.non_tensor_batch, batch.meta_info):
            for key in drops:
                if held is not None and key in held.keys():
                    held.pop(key)
        if fields.tensors and (batch.batch is None or not len(batch.batch.keys())):
            tensors = tensors_of(fields)
            device = None if batch.batch is None else batch.batch.device
            batch.batch = store(tensors, leading_sizes(next(iter(tensors.values())), 1), device)
        elif batch.batch is not None:
            for key, value in fields.tensors.items():
                batch.batch[key] = value
        batch.non_tensor_batch.update(columns_of(fields))
        batch.meta_info.update(fields.meta)

    def take(self, batch: VerlBatch, rows: Rows) -> VerlBatch:
        tensors = None
        if batch.batch is not None:
            taken = take_all(batch.batch, rows)
            tensors = store(taken, (rows.count, *batch.batch.batch_size[1:]), batch.batch.device)
        columns = {key: rows.of(column) for key, column in batch.non_tensor_batch.items()}
        return _new(batch, tensors, columns, dict(batch.meta_info))


def _new(like: VerlBatch, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any]) -> VerlBatch:
    made: VerlBatch = type(like)(batch=batch, non_tensor_batch=columns, meta_info=meta)  # type: ignore[call-arg]
    return made
