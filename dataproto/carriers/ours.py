"""Contracts on `batchpact.dataproto.DataProto`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from batchpact.dataproto.build import columns_of, tensors_of
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.handout import HandOut
from batchpact.dataproto.rows import Index, Rows
from batchpact.dataproto.tensors import store
from batchpact.schemas.stores import Stores


class OurCarrier:
    """The only kind that remembers writers, row origins and pad rows."""

    def stores(self, batch: DataProto) -> Stores:
        return batch.stores()

    def history(self, batch: DataProto) -> Mapping[str, str]:
        return batch.history()

    def hand_out(self, batch: DataProto, terms: HandOut) -> DataProto:
        return batch._hand_out(terms)

    def make(self, like: DataProto, fields: Stores, rows: int | None) -> DataProto:
        device = None if like.batch is None else like.batch.device
        batch = store(tensors_of(fields), (rows or 0,), device) if fields.tensors else None
        return type(like)(batch, columns_of(fields), dict(fields.meta))

    def copy(self, batch: DataProto) -> DataProto:
        return batch.select()

    def put(self, batch: DataProto, fields: Stores, drops: Collection[str]) -> None:
        batch._put(fields, drops)

    def take(self, batch: DataProto, rows: Rows) -> DataProto:
        return batch._take(rows)

    def mark(self, batch: DataProto, *, writers: Mapping[str, str], rewrites: frozenset[str]) -> None:
        batch._writers = {**batch._writers, **writers} if batch._writers else writers
        if rewrites:
            batch._rewrites = rewrites

    def note_reader(self, batch: DataProto, stage: str, keys: Collection[str]) -> None:
        batch._reads = {**batch._reads, stage: keys}

    def origin(self, batch: DataProto) -> Index | None:
        return batch._marks.origin

    def start_rows(self, handed: DataProto, rows: int) -> None:
        handed._marks = handed._marks._replace(origin=np.arange(rows, dtype=np.int64))

    def pads(self, batch: DataProto) -> np.ndarray | None:
        return batch._marks.pads
