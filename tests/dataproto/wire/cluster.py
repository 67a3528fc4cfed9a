"""What runs in a worker: it says what it received, and where that lies in memory."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from batchpact.dataproto import DataProto, transport
from tests.dataproto.support import plain
from tests.dataproto.wire.resident import resident
from tests.dataproto.wire.ways import memory


class Worker:
    """An actor; Ray unpickles the arguments of a call before any of this runs."""

    def look(self, data: DataProto) -> dict[str, str]:
        return plain(data)

    def in_store(self, data: DataProto) -> dict[str, bool]:
        """Which fields lie in Ray's object store."""
        return in_store(data)

    def write(self, data: DataProto) -> DataProto:
        """The same batch, after a write into everything."""
        assert data.batch is not None
        for tensor in data.batch.values():
            tensor.zero_()
        for cells in data.non_tensor_batch.values():
            cells[:] = cells[0]
        data.batch["late"] = torch.ones(len(data))
        data.meta_info["new"] = 1
        return data

    def return_views(self, data: DataProto) -> DataProto:
        with transport(zero_copy=True):
            return data

    def facts(self, data: DataProto) -> tuple[str, str | None, Any, Any]:
        schema = None if data._bound is None else data._bound.schema.__qualname__
        return type(data).__qualname__, schema, data.history(), data._marks

    def resident(self) -> int:
        return resident()

    def environment(self, name: str, value: str) -> None:
        os.environ[name] = value


def in_store(data: DataProto) -> dict[str, bool]:
    assert data.batch is not None
    fields: dict[str, torch.Tensor | np.ndarray] = dict(data.batch.items())
    fields |= {key: cells for key, cells in data.non_tensor_batch.items() if cells.dtype != object}
    return {key: _in_shared_memory(memory(value).start) for key, value in fields.items()}


def _in_shared_memory(address: int) -> bool:
    """Whether an address lies in a mapping of a file in shared memory, as those of the object store do."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            start, stop = (int(end, 16) for end in line.split()[0].split("-"))
            if start <= address < stop:
                return "/dev/shm" in line or "plasma" in line
    raise AssertionError("an address without memory")
