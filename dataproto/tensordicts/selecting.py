"""Choosing rows: cutting, indexing, going through in mini-batches and padding, by the index plan of `DataProto`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, overload

import numpy as np
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.entries import take_fields
from batchpact.dataproto.iteration import mini_batches
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.rows import RowLike, Rows, plan_rows
from batchpact.dataproto.splitting import check_count, chunk_rows
from batchpact.dataproto.tensordicts.given import derive, fields_and_rows
from batchpact.schemas.text import count


def chunk_tensordict(td: TensorDictBase, chunks: int) -> list[TensorDict]:
    """Cut a `TensorDict` into parts of equal length; tensors are views where their layout has any.

    Args:
        td: what is cut; every part has its meta.
        chunks: how many parts.

    Raises:
        BatchError: if the rows cannot be shared equally.
    """
    function = "tensordicts.chunk_tensordict"
    fields, length = fields_and_rows(function, td)
    parts = chunk_rows(length, chunks, uneven=False, operation=function)
    return [derive(td, take_fields(fields, rows), rows.count) for rows in parts]


@overload
def index_select_tensor_dict(batch: TensorDictBase, indices: RowLike) -> TensorDict: ...
@overload
def index_select_tensor_dict(batch: None, indices: RowLike) -> None: ...
def index_select_tensor_dict(batch: TensorDictBase | None, indices: RowLike) -> TensorDict | None:
    """The rows of an index or a mask, in any order and any number of times.

    Args:
        batch: what is indexed; None gives None.
        indices: rows, negative ones count from the end; or one boolean per row.

    Raises:
        BatchError: if the index does not fit.
    """
    if batch is None:
        return None
    function = "tensordicts.index_select_tensor_dict"
    fields, length = fields_and_rows(function, batch)
    rows = plan_rows(function, indices, length)
    return derive(batch, take_fields(fields, rows), rows.count)


def make_iterator(
    tensordict: TensorDictBase,
    mini_batch_size: int,
    epochs: int,
    seed: int | None = None,
    dataloader_kwargs: Mapping[str, Any] | None = None,
) -> Iterator[TensorDict]:
    """Go through a `TensorDict` in mini-batches, several times, in the order that torch's `DataLoader` gives.

    Args:
        tensordict: what is gone through.
        mini_batch_size: the rows of each mini-batch; there are a multiple of it.
        epochs: how many times.
        seed: seeds the order, where `dataloader_kwargs` ask for a random one.
        dataloader_kwargs: options of the `DataLoader`, such as `shuffle`.

    Raises:
        BatchError: if rows would be left over, or an option is one that this function sets; at the call, not later.
    """
    function = "tensordicts.make_iterator"
    _, length = fields_and_rows(function, tensordict)
    take = partial(index_select_tensor_dict, tensordict)
    return mini_batches(function, length, take, mini_batch_size, epochs, seed, dataloader_kwargs)


def pad_to_divisor(data: TensorDictBase, size_divisor: int) -> tuple[TensorDict, int]:
    """Append copies of the rows, over and over from the first, until the length is a multiple of a number.

    Args:
        data: any number of rows; it stays as it is. None is a multiple already.
        size_divisor: what the length becomes a multiple of.

    Returns:
        The padded `TensorDict` and the number of pad rows. A `TensorDict` has no place to mark them.

    Raises:
        BatchError: if the divisor is no whole number of 1 or more.
    """
    function = "tensordicts.pad_to_divisor"
    fields, length = fields_and_rows(function, data)
    check_count(function, "size_divisor", size_divisor)
    pad_size = -length % int(size_divisor)
    rows = Rows.span(0, length)
    if pad_size:
        rows = Rows(index=np.arange(length + pad_size, dtype=np.int64) % length)
    return derive(data, take_fields(fields, rows), rows.count), pad_size


def unpad(data: TensorDictBase, pad_size: int) -> TensorDict:
    """Remove the last rows.

    Args:
        data: it stays as it is.
        pad_size: how many rows, as `pad_to_divisor` told.

    Raises:
        BatchError: if there are fewer rows.
    """
    function = "tensordicts.unpad"
    fields, length = fields_and_rows(function, data)
    check_count(function, "pad_size", pad_size, least=0)
    if pad_size > length:
        raise refuse(function, "BP043", "pad_size", f"{pad_size} of {count(length, 'row')}", "as many rows at least")
    rows = Rows.span(0, length - pad_size)
    return derive(data, take_fields(fields, rows), rows.count)
