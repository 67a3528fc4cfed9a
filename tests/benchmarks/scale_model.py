"""What a controller ships in one GRPO step, counted from the contracts, and how long that takes, from two rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from batchpact.schemas.rl.grpo import ComputeOldLogProb, ComputeRefLogProb, UpdateActor
from batchpact.schemas.stage import StageSchema
from tests.benchmarks.batches import Size, thirteen_tensors

SHIPPED: tuple[type[StageSchema], ...] = (ComputeOldLogProb, ComputeRefLogProb, UpdateActor)
"""The stages of a step that run on workers."""


class Load(NamedTuple):
    """What a step costs to ship.

    Attributes:
        calls: messages to workers.
        sent: bytes to them.
        returned: bytes from them.
    """

    calls: int
    sent: int
    returned: int


def field_bytes(size: Size) -> dict[str, int]:
    """The bytes of each of the 13 fields; they grow with the rows."""
    one = thirteen_tensors(size=size._replace(rows=1))
    return {key: tensor.nbytes * size.rows for key, tensor in one.items()}


def load(size: Size, workers: int, *, projected: bool) -> Load:
    """The load of one step: what the stages declare, or all 13 fields for each of them."""
    sizes = field_bytes(size)
    reads = [[field.key for field in stage.__batchpact__.reads.fields] for stage in SHIPPED]
    writes = [field.key for stage in SHIPPED for field in stage.__batchpact__.writes.fields]
    sent = sum(sizes.get(key, 0) for keys in reads for key in (keys if projected else sizes))
    return Load(len(SHIPPED) * workers, sent, sum(sizes.get(key, 0) for key in writes))


class Rates(NamedTuple):
    """What the model is made of.

    Attributes:
        call: seconds for each message.
        byte: seconds for each byte, there or back.
    """

    call: float
    byte: float

    def seconds(self, load: Load) -> float:
        """How long a step's shipping takes by the model."""
        return self.call * load.calls + self.byte * (load.sent + load.returned)


def fitted(points: Sequence[tuple[Load, float]]) -> Rates:
    """The rates that fit measured points best, each point counting by its relative error."""
    rows = np.array([[load.calls, load.sent + load.returned] for load, _ in points], dtype=np.float64)
    seconds = np.array([measured for _, measured in points])
    call, byte = np.linalg.lstsq(rows / seconds[:, None], np.ones(len(points)), rcond=None)[0]
    return Rates(float(call), float(byte))
