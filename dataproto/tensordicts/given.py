"""What the functions check of a `TensorDict` that they are given, and how they make one that comes from it."""

from __future__ import annotations

import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.dataproto.entries import from_entries, tensordict_of
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.withheld import knowing
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Stores


def check(function: str, batch: object) -> None:
    """A function was given a `TensorDict`.

    Raises:
        BatchError: if not.
    """
    if not isinstance(batch, TensorDictBase):
        hint = "get_tensordict(x) and DataProto.to_tensordict() make one"
        raise refuse(function, "BP045", "batch", describe(batch), "a TensorDict", hint)


def check_writable(function: str, batch: TensorDictBase) -> None:
    """A function was given a `TensorDict` that it can change.

    Raises:
        BatchError: if not.
    """
    check(function, batch)
    if batch.is_locked:
        raise refuse(function, "BP045", "batch", "a locked TensorDict", "one that can be written: unlock_()")


def fields_and_rows(function: str, batch: TensorDictBase) -> tuple[Stores, int]:
    """The fields of a `TensorDict` whose rows are to be taken, and how many rows it has."""
    check(function, batch)
    fields = from_entries(batch)
    return fields, row_count(function, batch, fields)


def row_count(function: str, batch: TensorDictBase, fields: Stores) -> int:
    """The rows of a `TensorDict` with these fields; meta alone may have none.

    Raises:
        BatchError: if there are fields without a batch axis.
    """
    if batch.batch_size:
        return int(batch.batch_size[0])
    if fields.tensors or fields.columns:
        raise refuse(function, "BP045", "batch", "a TensorDict without a batch axis", "batch_size has the rows first")
    return 0


def derive(like: TensorDictBase, fields: Stores, rows: int) -> TensorDict:
    """A `TensorDict` of fields that come from `like` and have this many rows."""
    size = torch.Size([rows, *like.batch_size[1:]]) if like.batch_size else like.batch_size
    return knowing(like, tensordict_of(fields, size, like.device))
