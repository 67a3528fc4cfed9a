"""Gathering over the ranks of a process group: every rank gets the rows of all of them.

What the ranks hold is compared before any tensor moves: a collective that one rank joins with another tensor, or does
not join, would hang. Dense tensors travel as bytes, so that every dtype does; jagged ones as their values and offsets.
Everything else, the columns and the meta among it, is pickled, as torch's own collectives of objects do.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from batchpact.dataproto import nested
from batchpact.dataproto.concat import concat_batches, concat_stores
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.core import check_batch
from batchpact.dataproto.raw_bytes import from_bytes, to_bytes
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import Value, items, store
from batchpact.schemas.axes import is_dense, is_jagged, ragged_axis
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.violations import Violation

_NAME = "all_gather_data_proto"
T = TypeVar("T")


def all_gather_data_proto(data: DataProto, process_group: dist.ProcessGroup | None) -> None:
    """Gather the rows of all ranks of a process group, in the order of the ranks, in place.

    Every rank of the group calls this, each with a batch of any number of rows. Fields, dtypes, row shapes and layouts
    are the same on every rank, and meta is merged, as in `DataProto.concat`. Tensors stay on the device on which each
    rank has them. They are gathered on one that the group can use: with NCCL they move to the current GPU for it.

    Args:
        data: the rows of this rank; it gets those of all ranks.
        process_group: the ranks; None for all of them.

    Raises:
        BatchError: on every rank, naming field, ranks and what differs, where what the ranks hold does not fit
            together, or one of them holds no consistent batch; nothing is changed on any of them then.
        ContractError: on every rank, where the whole does not keep to the bound schema.
    """
    rank = dist.get_rank(process_group)
    if rank < 0:
        expected = "only the ranks of a group gather"
        raise refuse(_NAME, "BP036", "process_group", "this process is not in it", expected)
    share = _share(data, rank)
    held = _of_all_ranks(share.held, process_group)
    wrong = [violation for each in held for violation in each.wrong] or _compare(held)
    if wrong:
        raise refuse_all(_NAME, wrong)
    tensors = _gather_tensors(share, held, process_group)
    parts = [pickle.loads(rest) for rest in _of_all_ranks(share.rest, process_group)]
    for part, gathered, of_rank in zip(parts, tensors, held, strict=True):
        if of_rank.batch_size is not None:
            part.batch = store({**gathered, **items(part.batch)}, of_rank.batch_size)
    _become(data, concat_batches(parts, pad=False, operation=_NAME, noun="rank"))


class _Piece(NamedTuple):
    """What the others have to know of a dense tensor to receive it."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    device: str


class _Held(NamedTuple):
    """What a rank holds, in plain values, without a row of it.

    Attributes:
        tensors: the tensors that are gathered by collectives, without their rows.
        columns: the columns, without their rows.
        history: what is known of the fields, in words.
        pieces: the dense tensors that each of these tensors consists of.
        batch_size: of the tensors; None where the batch has none.
        fills: the fields that the bound schema would fill where a rank has none.
        wrong: why this rank has nothing to offer.
    """

    tensors: Mapping[str, Tensor] = {}
    columns: Mapping[str, Column] = {}
    history: Mapping[str, str] = {}
    pieces: Mapping[str, Sequence[_Piece]] = {}
    batch_size: tuple[int, ...] | None = None
    fills: Sequence[str] = ()
    wrong: Sequence[Violation] = ()


class _Share(NamedTuple):
    """What a rank gives: what it holds in words, its tensors as dense ones, and the rest of the batch, pickled."""

    held: _Held
    pieces: Mapping[str, Sequence[Tensor]] = {}
    rest: bytes = b""


def _share(data: DataProto, rank: int) -> _Share:
    """What this rank gives. Whatever is wrong with it is told to the others, who would wait for ever."""
    try:
        check_batch(_NAME, data)
        return _share_of(data)
    except ContractError as error:
        found = error.violations
    except Exception as error:
        found = (_unpicklable(data, error),)
"""
