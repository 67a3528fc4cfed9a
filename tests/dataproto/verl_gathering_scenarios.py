"""verl's function beside ours, in each of the processes that `ranks.py` starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from verl import protocol as verl

from batchpact.dataproto import DataProto, all_gather_data_proto
from tests.dataproto.support import COLUMNS, TENSORS, plain

TENSORS_OF_VERL = ("f32", "i64", "bool", "bf16")
COLUMNS_OF_VERL = ("strings", "dicts", "arrays", "nones", "f32_column", "i16_matrix", "text_column")


def both(rows: int) -> Callable[[int, int], Any]:
    """What verl's function and ours make of the same batches."""

    def scenario(rank: int, world: int) -> Any:
        rng = np.random.default_rng(rank)
        given = {
            "tensors": {name: TENSORS[name](rng, rows) for name in TENSORS_OF_VERL},
            "non_tensors": {name: COLUMNS[name](rng, rows) for name in COLUMNS_OF_VERL},
            "meta_info": {"k": [1, 2]},
        }
        ours, theirs = DataProto.from_dict(**given), verl.DataProto.from_dict(**given)
        all_gather_data_proto(ours, None)
        with mock.patch.object(verl, "get_device_id", lambda: "cpu"):
            verl.all_gather_data_proto(theirs, None)
        return plain(theirs), plain(ours)

    return scenario


SCENARIOS = {f"{rows}": both(rows) for rows in (1, 3)}
