"""What the tests of this folder share: whole messages, and what a `TensorDict` holds, told without our own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict, TensorDictBase

from batchpact.dataproto.entries import NoRows
from batchpact.schemas import BatchError, ContractError
from tests.dataproto.support import jagged, jagged_on_2, plain_tensor, says


@contextmanager
def refuses(function: str, *lines: str, kind: type[ContractError] = BatchError) -> Iterator[None]:
    """The block is refused by a function of the module, with these lines and no others."""
    with says(kind, f"in tensordicts.{function}; nothing was changed", *lines):
        yield


def shown(batch: TensorDictBase) -> dict[str, tuple[str, str]]:
    """Every entry by its kind, with its values as text."""
    return {key: _shown(batch.get(key)) for key in sorted(batch.keys())}


def _shown(entry: Any) -> tuple[str, str]:
    if isinstance(entry, NonTensorStack):
        return "column", repr(entry.tolist())
    if isinstance(entry, NonTensorData):
        # tensordict 0.10 has no stack without cells.
        return ("column", "[]") if isinstance(entry.data, NoRows) else ("meta", repr(entry.data))
    return "tensor", plain_tensor(entry)


def small() -> TensorDict:
    """Four rows with an entry of each kind."""
    fields: dict[str, Any] = {
        "ids": torch.arange(8).reshape(4, 2),
        "flat": jagged([1], [], [2, 3], [4]),
        "deep": jagged_on_2([[1], [2]], [[], []], [[3, 4], [5, 6]], [[7], [8]]),
        "uid": NonTensorStack(*[NonTensorData(data=cell) for cell in ("a", "b", "c", "d")]),
        "turns": NonTensorStack(*[NonTensorData(data=cell) for cell in ([], [0.5], [{"k": 1}], None)]),
        "step": NonTensorData(data=3),
        "four": NonTensorData(data=[1, 2, 3, 4]),
    }
    return TensorDict(fields, batch_size=[4])


def with_meta(**values: Any) -> TensorDict:
    """Meta alone, without a batch axis."""
    return TensorDict({key: NonTensorData(data=value) for key, value in values.items()}, batch_size=[])


def tensors(rows: int = 4, **values: Any) -> TensorDict:
    return TensorDict(values, batch_size=[rows])


NO_AXIS = "BP045 store  batch  a TensorDict without a batch axis; batch_size has the rows first"


def numbered() -> TensorDict:
    """Six rows that can be told from each other in every kind of entry."""
    fields: dict[str, Any] = {
        "x": torch.arange(6),
        "j": jagged(*([row] * (row % 3) for row in range(6))),
        "u": NonTensorStack(*[NonTensorData(data=[row]) for row in range(6)]),
        "k": NonTensorData(data=list(range(6))),
    }
    return TensorDict(fields, batch_size=[6])


def expected(rows: list[int]) -> dict[str, tuple[str, str]]:
    """What these rows of the six look like."""
    return {
        "x": ("tensor", plain_tensor(torch.tensor(rows, dtype=torch.int64))),
        "j": ("tensor", plain_tensor(jagged(*([row] * (row % 3) for row in rows)))),
        "u": ("column", repr([[row] for row in rows])),
        "k": ("meta", repr(list(range(6)))),
    }
