"""A batch as pickle takes it: a function, and plain parts beside the memory of the tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np
from tensordict import TensorDictBase

from batchpact.dataproto.build import check_stores
from batchpact.dataproto.wire.inner import Exchange
from batchpact.dataproto.wire.opening import Opening
from batchpact.dataproto.wire.packing import Form, Packing
from batchpact.dataproto.wire.receiving import Arriving, Header, receive
from batchpact.dataproto.wire.transport import asked
from batchpact.schemas.stores import Column

Reduced: TypeAlias = "tuple[Callable[..., object], tuple[Opening, type[Arriving], Header]]"

DUMPS = "pickle.dumps"
"""The operation, as errors name it."""


def reduce(
    kind: type[Arriving],
    batch: TensorDictBase | None,
    columns: Mapping[str, Column],
    meta: Mapping[str, Any],
    unseen: dict[str, Any],
    protocol: int,
) -> Reduced:
    """What a batch returns where pickle asks how it is made again.

    Args:
        kind: its class.
        batch: its tensors.
        columns: its columns.
        meta: its meta.
        unseen: what it carries unseen.
        protocol: of pickle. From 5 on, large tensors are buffers that need not be copied.

    Raises:
        BatchError: if the batch is not consistent.
    """
    held = check_stores(DUMPS, batch, columns, meta).tensors
    wanted, packing = asked(), Packing(protocol)
    exchange = Exchange(wanted)
    header: Header = {
        "size": None if batch is None else tuple(batch.batch_size),
        "device": None if batch is None or batch.device is None else str(batch.device),
        "tensors": packing.tensors(held),
        "columns": {key: _column(column, packing, exchange) for key, column in columns.items()},
        "meta": exchange.of_dict(dict(meta)),
        "unseen": exchange.of_dict(unseen),
        "transport": (wanted.zero_copy, wanted.device),
    }
    return receive, (Opening(), kind, header)


def _column(column: Column, packing: Packing, exchange: Exchange) -> Form:
    if type(column) is not np.ndarray or column.dtype != object:
        return packing.array(column)
    cells = cast("list[object]", column.reshape(-1).tolist())
    if set(map(type, cells)) == {str}:
        # Pickle sends an object once, and texts that are equal are mostly not the same object.
        texts = dict(zip(cells, cells, strict=True))
        cells = cells if len(texts) == len(cells) else list(map(texts.__getitem__, cells))
    else:
        cells = exchange.of_list(cells)
    return "objects", column.shape, cells
