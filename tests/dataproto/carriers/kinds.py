"""The same batch in a container of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.schemas.stores import Stores
from tests.dataproto.support import jagged


@dataclass
class LooksLikeVerl:
    """The structure of verl's `DataProto`: its three stores and a length, made by keyword."""

    batch: TensorDict | None = None
    non_tensor_batch: dict[str, Any] = field(default_factory=dict)
    meta_info: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        if self.batch is not None:
            return int(self.batch.batch_size[0])
        return next((len(cells) for cells in self.non_tensor_batch.values()), 0)


CELLS = [["a", 1], [], None]


def tensors() -> dict[str, torch.Tensor]:
    return {"ids": torch.arange(6).reshape(3, 2), "flat": jagged([1], [], [2, 3])}


def ours() -> DataProto:
    return DataProto(TensorDict(tensors(), batch_size=[3]), {"cells": column(CELLS)}, {"three": [1, 2, 3], "k": 0.5})


def verl_like() -> LooksLikeVerl:
    data = ours()
    return LooksLikeVerl(data.batch, data.non_tensor_batch, data.meta_info)


def tensor_dict() -> TensorDict:
    fields: dict[str, Any] = {
        **tensors(),
        "cells": NonTensorStack(*[NonTensorData(data=cell) for cell in CELLS]),
        "three": NonTensorData(data=[1, 2, 3], batch_size=[3]),
        "k": NonTensorData(data=0.5, batch_size=[3]),
    }
    return TensorDict(fields, batch_size=[3])


KINDS: dict[str, Callable[[], Any]] = {"ours": ours, "verl": verl_like, "TensorDict": tensor_dict}


def holds_columns_without_rows() -> bool:
    """Whether this tensordict can; 0.10 cannot."""
    try:
        return len(TensorDict({"c": NonTensorStack("a")}, batch_size=[1])[:0]) == 0
    except RuntimeError:
        return False


needs_columns_without_rows = pytest.mark.skipif(
    not holds_columns_without_rows(), reason="this tensordict cannot hold a column without rows"
)


def shown(stores: Stores) -> dict[str, Any]:
    """What a batch holds, as plain Python values."""
    return {
        **{key: [row.tolist() for row in value.unbind(0)] for key, value in stores.tensors.items()},  # type: ignore[attr-defined]
        **{key: list(value) for key, value in stores.columns.items()},  # type: ignore[call-overload]
        **stores.meta,
    }


WHOLE = {
    "ids": [[0, 1], [2, 3], [4, 5]],
    "flat": [[1], [], [2, 3]],
    "cells": [["a", 1], [], None],
    "three": [1, 2, 3],
    "k": 0.5,
}


def places(stores: Stores) -> list[set[str]]:
    return [set(stores.tensors), set(stores.columns), set(stores.meta)]
