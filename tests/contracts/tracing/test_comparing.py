"""What a call did to a batch: rows and fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.contracts.tracing.comparing import changes, moved_rows
from batchpact.dataproto import DataProto
from batchpact.schemas.stores import Stores


def stores(ids: list[int], **meta: Any) -> Stores:
    return DataProto.from_dict({"ids": torch.tensor(ids)}, {}, meta).stores()


@pytest.mark.parametrize(
    ("after", "origin", "expected"),
    [
        ([0, 1, 2], None, "same"),
        ([0, 1, 2], [0, 1, 2], "same"),
        ([2, 1, 0], [2, 1, 0], "permute"),
        ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], "repeat(2)"),
        ([0, 0, 1, 1, 2, 2], None, "repeat(2)"),
        ([0, 1, 2, 0, 1, 2], None, "select"),
        ([0, 1, 3, 0, 1, 2], None, "new"),
        ([0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1, 2], "select"),
        ([0, 2], [0, 2], "select"),
        ([0, 2], None, "select"),
        ([0, 3], None, "new"),
        ([2, 1, 0], None, "same"),
        ([], [], "select"),
        ([], None, "new"),
    ],
)
def test_what_happened_to_the_rows(after: list[int], origin: list[int] | None, expected: str) -> None:
    known = None if origin is None else np.array(origin, dtype=np.int64)

    assert str(moved_rows(stores([0, 1, 2]), stores(after), known)[0]) == expected


def test_without_rows_they_stay_as_they_are() -> None:
    assert str(moved_rows(Stores({}, {}, {}), stores([1]), None)[0]) == "same"


def test_what_only_moved_with_the_rows_is_not_new() -> None:
    after = DataProto.from_dict({"ids": torch.tensor([1, 0]), "new": torch.zeros(2)}, {}, {"a": 1, "b": 3}).stores()

    assert changes(stores([0, 1], a=1, b=2), after, np.array([1, 0])).names() == ["new", "b"]
    assert changes(stores([0, 1], a=1), after, np.array([0, 1])).names() == ["ids", "new", "b"]
    assert changes(stores([5]), after, None).names() == ["ids", "new", "a", "b"]
