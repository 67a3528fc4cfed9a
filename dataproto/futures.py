"""A batch that is still being made: its parts are Ray object refs, and nothing is fetched before somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tensordict import TensorDictBase

from batchpact.dataproto.container import DataProto
from batchpact.dataproto.refusal import refuse
from batchpact.dataproto.splitting import check_count
from batchpact.dataproto.tensordicts.joining import concat_tensordict
from batchpact.dataproto.tensordicts.selecting import chunk_tensordict
from batchpact.schemas.describe import describe

if TYPE_CHECKING:
    import ray

AnyBatch: TypeAlias = "DataProto | TensorDictBase"


@dataclass
class DataProtoFuture:
    """A batch in parts that workers are making; it goes from one worker group to the next without being fetched.

    Attributes:
        collect_fn: makes one batch of the parts.
        futures: an object ref for each part, in order.
        dispatch_fn: takes from the whole what is wanted; None for all of it.

    Raises:
        BatchError: if there are no parts.
    """

    collect_fn: Callable[[list[Any]], AnyBatch]
    futures: list[ray.ObjectRef[Any]]
    dispatch_fn: Callable[[Any], AnyBatch] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.futures, (list, tuple)) or not self.futures:
            expected = "a list with an object ref for each part"
            raise refuse("DataProtoFuture", "BP042", "futures", describe(self.futures), expected)

    @staticmethod
    def concat(data: list[ray.ObjectRef[Any]]) -> DataProtoFuture:
        """The batch whose parts stand one below the other.

        Args:
            data: object refs of `DataProto`s, or of `TensorDict`s.
        """
        return DataProtoFuture(collect_fn=DataProto.concat, futures=data)

    def chunk(self, chunks: int) -> list[DataProtoFuture]:
        """Futures of the equal parts into which the batch will be cut; nothing is fetched.

        Args:
            chunks: how many; that the rows can be shared equally shows when a part is asked for.

        Raises:
            BatchError: if this is no number of parts.
        """
        check_count("DataProtoFuture.chunk", "chunks", chunks)
        return [
            DataProtoFuture(self.collect_fn, self.futures, partial(_cut, chunks=chunks, at=at, first=self.dispatch_fn))
            for at in range(chunks)
        ]

    def get(self) -> AnyBatch:
        """Wait for the parts, fetch them and make the batch; it is of the kind of its parts.

        Raises:
            BatchError: naming the parts that are no batch, or what differs between them.
        """
        import ray

        parts = ray.get(list(self.futures))
        _check_kinds(parts)
        # verl collects by concat whatever the parts are; a function of somebody's own knows its parts.
        collect = _concat if self.collect_fn is DataProto.concat else self.collect_fn
        whole = _checked("collect_fn", collect(parts))
        return whole if self.dispatch_fn is None else _checked("dispatch_fn", self.dispatch_fn(whole))


def _cut(whole: AnyBatch, chunks: int, at: int, first: Callable[[Any], AnyBatch] | None) -> AnyBatch:
    """A part of what an earlier dispatch took."""
    taken = whole if first is None else first(whole)
    return (chunk_tensordict(taken, chunks) if isinstance(taken, TensorDictBase) else taken.chunk(chunks))[at]


def _concat(parts: list[Any]) -> AnyBatch:
    return concat_tensordict(parts) if isinstance(parts[0], TensorDictBase) else DataProto.concat(parts)


def _check_kinds(parts: list[Any]) -> None:
    """All parts are `DataProto`s, or all are `TensorDict`s."""
    others = [at for at, part in enumerate(parts) if not isinstance(part, (DataProto, TensorDictBase))]
    if others:
        actual = f"part {others[0]} is no batch: {describe(parts[others[0]])}"
        hint = "DataProto.from_verl(x) makes one of verl's own"
        raise refuse("DataProtoFuture.get", "BP045", "futures", actual, "every part a DataProto or a TensorDict", hint)
    odd = [at for at, part in enumerate(parts) if isinstance(part, DataProto) != isinstance(parts[0], DataProto)]
    if odd:
        actual = f"part 0 is a {type(parts[0]).__name__}, part {odd[0]} a {type(parts[odd[0]]).__name__}"
        raise refuse("DataProtoFuture.get", "BP042", "futures", actual, "parts of one kind")


def _checked(made_by: str, batch: AnyBatch) -> AnyBatch:
    """What a function made is a batch, and consistent."""
    if isinstance(batch, DataProto):
        batch.check_consistency()
    elif not isinstance(batch, TensorDictBase):
        raise refuse("DataProtoFuture.get", "BP045", made_by, describe(batch), "a DataProto or a TensorDict")
    return batch
