"""Gathering over the ranks of a process group: every rank gets the rows of all of them.

What the ranks hold is compared before any tensor moves: a collective that one rank joins with another tensor, or does
not join at all, would hang. Dense tensors travel as bytes, so that every dtype does; jagged ones as their values and
offsets. Everything else is pickled, as torch's own collectives of objects do.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import NamedTuple, TypeAlias, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import pad

from batchpact.dataproto import nested
from batchpact.dataproto.concat import concat_batches, concat_stores
from batchpact.dataproto.container import DataProto
from batchpact.dataproto.core import check_batch
from batchpact.dataproto.raw_bytes import from_bytes, to_bytes
from batchpact.dataproto.refusal import refuse, refuse_all
from batchpact.dataproto.tensors import Value, items, store
from batchpact.dataproto.wire.packing import is_plain
from batchpact.dataproto.wire.unpicklable import unpicklable
from batchpact.schemas.axes import is_jagged
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError
from batchpact.schemas.stores import Column, Stores
from batchpact.schemas.violations import Violation

_NAME = "all_gather_data_proto"
T = TypeVar("T")


def all_gather_data_proto(data: DataProto, process_group: dist.ProcessGroup | None) -> None:
    """Gather the rows of all ranks of a process group, in the order of the ranks, in place.

    Every rank of the group calls this, each with any number of rows. Fields, dtypes, row shapes and layouts are the
    same on all of them, and meta is merged, as in `DataProto.concat`. Tensors stay on the device on which a rank has
    them; to be gathered they move to one that the group can use: the current GPU, where its backend is NCCL.

    Args:
        data: the rows of this rank; it gets those of all ranks.
        process_group: the ranks; None for all of them.

    Raises:
        BatchError: on every rank, naming field, ranks and what differs, where the ranks' batches do not fit together
            or one of them is none; no batch is changed then.
        ContractError: on every rank, where the whole does not keep to the bound schema.
    """
    rank = dist.get_rank(process_group)
    if rank < 0:
        raise refuse(_NAME, "BP036", "process_group", "this process is not in it", "the ranks of a group call this")
    share = _share(data, rank)
    held = _from_all_ranks(share.held, process_group)
    wrong = [violation for each in held for violation in each.wrong] or _compare(held)
    if wrong:
        raise refuse_all(_NAME, wrong)
    tensors = _gather_tensors(share, held, process_group)
    parts = _from_all_ranks(share.rest, process_group)
    for part, gathered in zip(parts, tensors, strict=True):
        if part.batch is not None:
            others = {key: _moved(value, items(data.batch).get(key)) for key, value in items(part.batch).items()}
            part.batch = store({**gathered, **others}, part.batch.batch_size)
    _become(data, concat_batches(parts, operation=_NAME, noun="rank"))


# --- what a rank gives ------------------------------------------------------------------------------------------------

_PieceName: TypeAlias = "tuple[str, int]"
"""A field, and which one of the dense tensors that it is made of."""


class _Piece(NamedTuple):
    """What the others have to know of a dense tensor to receive it."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    device: str


class _Held(NamedTuple):
    """What a rank holds, in plain values, without a single row.

    Attributes:
        axes: the tensors that are gathered by collectives, with the ragged axis of their values; None for dense ones.
        pieces: the dense tensors that these tensors are made of.
        columns: the columns, without their rows.
        known: what is known of the fields, in words.
        filled: fields that the bound schema fills where a rank has none.
        wrong: why this rank has nothing to give.
    """

    axes: Mapping[str, int | None] = {}
    pieces: Mapping[_PieceName, _Piece] = {}
    columns: Mapping[str, Column] = {}
    known: Mapping[str, str] = {}
    filled: Collection[str] = ()
    wrong: Sequence[Violation] = ()

    def history(self) -> Mapping[str, str]:
        return self.known

    def without_rows(self, left_out: Collection[str]) -> Stores:
        """The fields, but for some, as a batch without rows has them."""
        tensors = {}
        for key, axis in self.axes.items():
            if key not in left_out:
                dtype, shape, _ = self.pieces[key, 0]
                cut = axis or 0
                empty = torch.empty((*shape[:cut], 0, *shape[cut + 1 :]), dtype=dtype)
                tensors[key] = _made_of([empty, torch.zeros(1, dtype=torch.int64)], axis)
        return Stores(tensors, {key: cells for key, cells in self.columns.items() if key not in left_out}, {})


class _Share(NamedTuple):
    """What a rank gives: what it holds, its dense tensors, and the rest of its batch, which can be pickled."""

    held: _Held
    pieces: Mapping[_PieceName, Tensor]
    rest: DataProto


def _share(data: DataProto, rank: int) -> _Share:
    """What this rank gives. What is wrong with it is told to the others, who would wait for it without end."""
    try:
        check_batch(_NAME, data)
        return _share_of(data)
    except ContractError as error:
        found = list(error.violations)
    except Exception as error:  # whatever pickling raises
        actual = f"{type(error).__name__}: {error}"
        whole = Violation(code="BP050", field="data", actual=actual, expected="a batch that can be pickled")
        found = unpicklable(data) or [whole]
    told = [each.model_copy(update={"actual": f"on rank {rank}: {each.actual}"}) for each in found]
    return _Share(_Held(wrong=told), {}, DataProto())


def _share_of(data: DataProto) -> _Share:
    pieces: dict[_PieceName, Tensor] = {}
    axes: dict[str, int | None] = {}
    others: dict[str, Value] = {}
    for key, value in items(data.batch).items():
        if isinstance(value, Tensor) and value.is_meta:
            raise refuse(_NAME, "BP045", key, f"{describe(value)} on the meta device", "a tensor that has values")
        if is_plain(value):
            pieces[key, 0], axes[key] = value, None
        elif isinstance(value, Tensor) and is_jagged(value):
            pieces[key, 0], pieces[key, 1], axes[key] = nested.parts(value)
        else:
            others[key] = value
    rest = copy(data)
    rest.batch = None if data.batch is None else store(others, data.batch.batch_size)
    rest._marks = data._marks._replace(origin=None)  # a row of another rank comes from no row of this one's input
    policies = {} if data._bound is None else data._bound.named_by([data.meta_info]).policies
    held = _Held(
        axes=axes,
        pieces={name: _Piece(piece.dtype, tuple(piece.shape), piece.device.type) for name, piece in pieces.items()},
        columns={key: cells[:0] for key, cells in data.non_tensor_batch.items()},
        known=dict(data.history()),
        filled=[key for key, declared in policies.items() if declared.fill is not None],
    )
    # A collective would find out too late what cannot be pickled. Buffers, which always can, are left out here.
    pickle.dumps(rest, protocol=5, buffer_callback=lambda buffer: None)
    return _Share(held, pieces, rest)


def _compare(held: Sequence[_Held]) -> list[Violation]:
    """How the ranks differ. Fields that a bound schema fills are compared when they are."""
    filled = next((each.filled for each in held if each.filled), ())
    kept = [each.without_rows(filled) for each in held]
    return concat_stores(kept, [each.history for each in held], noun="rank")[1]


# --- collectives ------------------------------------------------------------------------------------------------------


def _from_all_ranks(own: T, group: dist.ProcessGroup | None) -> list[T]:
    received: list[T | None] = [None] * dist.get_world_size(group)
    dist.all_gather_object(received, own, group=group)
    return cast("list[T]", received)


def _gather_tensors(share: _Share, held: Sequence[_Held], group: dist.ProcessGroup | None) -> list[dict[str, Value]]:
    """The tensors of each rank, where this rank has its own."""
    names = dict.fromkeys(name for each in held for name in each.pieces)  # in one order on all ranks
    pieces = {name: _gather(share.pieces.get(name), [each.pieces.get(name) for each in held], group) for name in names}
    return [
        {
            key: _made_of([pieces[key, at][rank] for at in range(2) if (key, at) in each.pieces], axis)
            for key, axis in each.axes.items()
        }
        for rank, each in enumerate(held)
    ]


def _made_of(pieces: Sequence[Tensor], axis: int | None) -> Tensor:
    return pieces[0] if axis is None else nested.build(pieces[0], pieces[1], axis)


def _gather(own: Tensor | None, pieces: Sequence[_Piece | None], group: dist.ProcessGroup | None) -> list[Tensor]:
    """One dense tensor of each rank; a rank that has none gives nothing, and gets the others' all the same."""
    device = _wire({piece.device for piece in pieces if piece is not None}, group)
    sizes = [0 if piece is None else piece.dtype.itemsize * math.prod(piece.shape) for piece in pieces]
    most = max(sizes)
    received = [torch.empty(most, dtype=torch.uint8, device=device) for _ in pieces]
    if most:
        given = torch.empty(0, dtype=torch.uint8) if own is None else to_bytes(own)
        whole = given if len(given) == most else pad(given, (0, most - len(given)))
        dist.all_gather(received, whole.to(device), group=group)
    home = device if own is None else own.device
    return [
        data if piece is None else from_bytes(data[:size], piece.dtype, piece.shape).to(home)
        for data, size, piece in zip(received, sizes, pieces, strict=True)
    ]


def _wire(held_on: set[str], group: dist.ProcessGroup | None) -> str:
    """The kind of device on which a tensor is gathered: the one where all have it, if the group can use that."""
    usable = [pair.partition(":")[0] for pair in dist.get_backend_config(group).split(",")]
    return next(iter(held_on)) if len(held_on) == 1 and held_on.issubset(usable) else usable[0]


# --- what a rank gets -------------------------------------------------------------------------------------------------


def _moved(value: Value, like: Value | None) -> Value:
    """What was sent by way of the CPU, on the device on which this rank has its own."""
    return value if like is None or like.device is None else value.to(like.device)


def _become(data: DataProto, whole: DataProto) -> None:
    """Take over what a batch holds and carries unseen; inside a stage, what was not handed out stays known."""
    data.batch = None if whole.batch is None else data._tensor_store(items(whole.batch), whole.batch.batch_size)
    data.non_tensor_batch = data._known(dict(whole.non_tensor_batch))
    data.meta_info = data._known(dict(whole.meta_info))
    data._marks, data._writers, data._rewrites = whole._marks, whole._writers, whole._rewrites
    data._bound, data._carried = whole._bound, whole._carried
