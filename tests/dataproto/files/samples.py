"""Batches of every kind for the tests of files."""

from __future__ import annotations

import datetime
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.schemas import BatchSchema, Fill, NonTensor
from tests.dataproto.support import COLUMNS, META, TENSORS


class Declared(BatchSchema):
    """What the marked batch is bound to."""

    ids: Int64[Tensor, "batch"]
    score: Annotated[NonTensor[float] | None, Fill(0.0)] = None


def every_kind(rows: int = 5) -> DataProto:
    """Every tensor, column and meta value that the tests of this floor know, with a few that are rare."""
    rng = np.random.default_rng(0)
    strided = torch.nested.as_nested_tensor([torch.arange(2.0 * n).reshape(2, n) for n in rng.integers(0, 4, rows)])
    more = {"strided": strided, "complex": torch.from_numpy(rng.normal(size=(rows, 2))) * 1j}
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    rare = [{"image": image, "at": datetime.date(2025, 1, 2)}, (1, 2**70), {1: {2, 3}, None: frozenset((b"x",))}]
    return DataProto.from_dict(
        {**{key: make(rng, rows) for key, make in TENSORS.items()}, **more},
        {**{key: make(rng, rows) for key, make in COLUMNS.items()}, "rare": column([rare[n % 3] for n in range(rows)])},
        {**{key: make(rng, rows) for key, make in META.items()}, "text": "\ud800é", "none": None},
    )


def marked() -> DataProto:
    """A batch with everything that a batch carries unseen: writers, pad marks, filled rows, a schema."""
    parts = [{"ids": torch.arange(2)}, {"ids": torch.arange(2, 5)}]
    first = DataProto.from_dict(parts[0], {"score": [0.5, 1.5]}).bind(Declared)
    whole = DataProto.concat([first, DataProto.from_dict(parts[1]).bind(Declared)])
    whole._writers = {"ids": "generate", "score": "judge"}
    padded, _ = pad_dataproto_to_divisor(whole, 4)
    return padded


class Trap:
    """Reading its pickle runs code: it says so here."""

    sprung = False

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return spring, ()


def spring() -> None:
    """What runs where somebody reads the pickle of a `Trap`."""
    Trap.sprung = True
