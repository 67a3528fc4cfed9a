"""One call of a stage, on its way through the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from batchpact.contracts.arguments import Filled
from batchpact.contracts.effects import Version
from batchpact.contracts.reporting import Event
from batchpact.contracts.settings import Level, Settings
from batchpact.dataproto.carriers import Carrier
from batchpact.dataproto.rows import Index
from batchpact.dataproto.sizes import tensor_bytes
from batchpact.schemas.axes import Size
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation


@dataclass(slots=True)
class Passage:
    """What a boundary knows of a call between its way in and its way out.

    Attributes:
        batch: the caller's batch, or an instance of the Reads.
        carrier: how the batch is handled; None for an instance of the Reads.
        source: what the batch holds.
        handed: what the function is given.
        rows: the rows of the batch, where it has any field with rows.
        filled: what the call brings beside its batch.
        settings: the settings that count for this call.
        level: the level that counts for this call.
        started: when the call came in.
        origin: the row index that the handed-out batch started with, where its kind carries one.
        sizes: the dims that the reads bound.
        versions: the version counters of the tensors that the stage only reads.
        found: violations that were not raised.
        checked: the seconds that the way in took.
        shipped: the bytes of each field that was sent to other processes, where somebody wants to know.
    """

    batch: Any
    carrier: Carrier | None
    source: Stores
    handed: Any
    rows: int | None
    filled: Filled
    settings: Settings
    level: Level
    started: float
    origin: Index | None = None
    sizes: dict[str, Size] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    found: list[Violation] = field(default_factory=list)
    checked: float = 0.0
    shipped: dict[str, int] = field(default_factory=dict)

    @property
    def step(self) -> int | None:
        """The batch's `global_steps`, where it has them."""
        step = self.source.meta.get("global_steps")
        return step if isinstance(step, int) else None

    def event(self, stage: str, read_keys: frozenset[str], fields: Stores, leaving: float) -> Event:
        """What is told of the call, once it has written these fields; the way out took `leaving` seconds."""
        read = {key: value for key, value in self.source.tensors.items() if key in read_keys}
        return Event(
            stage=stage,
            step=self.step,
            seconds=perf_counter() - self.started,
            seconds_checking=self.checked + leaving,
            fields_read=sum(key in read_keys for key in self.source.names()),
            fields_written=len(fields.names()),
            bytes_read=tensor_bytes(read),
            bytes_written=tensor_bytes(fields.tensors),
            violations=tuple(self.found),
            shipped=self.shipped,
        )
