"""The batch that arrives, of what `sending.py` sent. Functions that pickles call keep their names and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypedDict

from tensordict import TensorDict
from typing_extensions import Self

from batchpact.dataproto.build import check_stores
from batchpact.dataproto.wire.packing import Form
from batchpact.dataproto.wire.transport import Transport, asked
from batchpact.dataproto.wire.unpacking import LOADS, Unpacking, malformed
from batchpact.schemas.describe import describe
from batchpact.schemas.stores import Column


class Header(TypedDict):
    """What is sent of a batch. `packing.py` says what the forms are."""

    size: tuple[int, ...] | None
    """The batch size of the tensors; None where there is no `TensorDict`."""
    device: str | None
    """Where the `TensorDict` was, where it said so."""
    tensors: dict[str, Form]
    columns: dict[str, Form]
    meta: dict[str, Any]
    unseen: dict[str, Any]
    """What the batch carries unseen: its schema, its marks, who wrote what."""
    transport: tuple[bool | None, str | None]
    """What the sender asked for."""


class Arriving(Protocol):
    """A class of batches."""

    @classmethod
    def _arrive(
        cls, batch: TensorDict | None, columns: dict[str, Column], meta: dict[str, Any], unseen: Mapping[str, Any]
    ) -> Self: ...


def receive(opening: int, kind: type[Arriving], header: Header) -> Arriving:
    """The batch of this class, in memory of its own unless a `transport` block or the sender asked for views.

    Args:
        opening: the version of the header.
        kind: `DataProto`, or a subclass.
        header: what was sent.

    Raises:
        BatchError: naming every field that does not have the form in which it is sent.
    """
    match header:
        case {
            "size": size,
            "device": device,
            "tensors": dict(tensors),
            "columns": dict(columns),
            "meta": dict(meta),
            "unseen": dict(unseen),
            "transport": (zero_copy, target),
        } if isinstance(kind, type) and hasattr(kind, "_arrive"):
            pass
        case _:
            raise malformed("batch", f"{describe(header)} for {describe(kind)}", "the header of a batch")
    wanted = asked().within(Transport(zero_copy, target))
    unpacking = Unpacking(copied=not wanted.zero_copy, device=wanted.device)
    batch = None if size is None else unpacking.tensordict(tensors, size, device)
    made = {key: unpacking.array(key, form) for key, form in columns.items()}
    check_stores(LOADS, batch, made, meta)
    return kind._arrive(batch, made, meta, unseen)
