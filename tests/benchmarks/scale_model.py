"""What a controller ships in one GRPO step, counted from the contracts, and how long that takes, from three rates."""

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
        stages: calls of stages.
        messages: calls of workers, one for each worker and stage.
        sent: bytes to them.
        returned: bytes from them.
    """

    stages: int
    messages: int
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
    return Load(len(SHIPPED), len(SHIPPED) * workers, sent, sum(sizes.get(key, 0) for key in writes))


class Rates(NamedTuple):
    """What the model is made of.

    Attributes:
        stage: seconds for each call of a stage.
        message: seconds for each worker that it calls.
        byte: seconds for each byte, there or back.
    """

    stage: float
    message: float
    byte: float

    def seconds(self, load: Load) -> float:
        """How long a step's shipping takes by the model."""
        return self.stage * load.stages + self.message * load.messages + self.byte * (load.sent + load.returned)


def fitted(points: Sequence[tuple[Load, float]]) -> Rates:
    """The rates that fit measured points best, each point counting by its relative error."""
    rows = np.array([[load.stages, load.messages, load.sent + load.returned] for load, _ in points], dtype=np.float64)
    seconds = np.array([measured for _, measured in points])
    found = np.linalg.lstsq(rows / seconds[:, None], np.ones(len(points)), rcond=None)[0]
    return Rates(*map(float, found))
