"""What the programs that run on both kinds of `DataProto` share."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from batchpact import dataproto
from batchpact.schemas import ContractError

both = pytest.mark.parametrize("module", [pytest.importorskip("verl.protocol"), dataproto], ids=["verl", "batchpact"])
"""Runs a test on either module; `module.DataProto` is the container."""

REFUSED = (AssertionError, ContractError)


def rollout(module: ModuleType, **meta: Any) -> Any:
    """Four rows: tokens, a score, a name for each prompt."""
    return module.DataProto.from_dict(
        tensors={"tokens": torch.arange(12).reshape(4, 3), "score": torch.tensor([0.0, 1.0, 2.0, 3.0])},
        non_tensors={"uid": ["a", "a", "b", "b"], "turns": np.array([1, 2, 3, 4], dtype=object)},
        meta_info=meta,
    )


def scores(data: Any) -> list[float]:
    return data.batch["score"].tolist()  # type: ignore[no-any-return]


def uids(data: Any) -> str:
    return "".join(data.non_tensor_batch["uid"])
