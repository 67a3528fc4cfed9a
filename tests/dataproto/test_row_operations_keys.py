"""Rows with a declared `Key()`: in any order, and none of them twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.dataproto import DataProto, pad_dataproto_to_divisor
from batchpact.schemas import BatchSchema, Key, NonTensor
from tests.dataproto.support import plain, refuses, small

TWICE: dict[str, tuple[str, Callable[[DataProto], object], str]] = {
    "repeat": ("repeat", lambda d: d.repeat(2), "row 0, 2 times"),
    "repeat the whole": ("repeat", lambda d: d.repeat(3, interleave=False), "row 0, 3 times"),
    "index": ("__getitem__", lambda d: d[[3, 1, 2, 1]], "row 1, 2 times"),
    "negative index": ("__getitem__", lambda d: d[np.array([-1, 3])], "row 3, 2 times"),
    "select_idxs": ("select_idxs", lambda d: d.select_idxs(torch.tensor([0, 0, 1])), "row 0, 2 times"),
    "sample_level_repeat": ("sample_level_repeat", lambda d: d.sample_level_repeat([1, 0, 3, 2]), "row 2, 3 times"),
    "reorder": ("reorder", lambda d: d.reorder([0, 1, 2, 2]), "row 2, 2 times"),
}


class Keyed(BatchSchema):
    ids: Int64[Tensor, "batch 2"]
    uid: Annotated[NonTensor[str], Key()] | None = None


@pytest.mark.parametrize(("operation", "take", "actual"), TWICE.values(), ids=TWICE.keys())
def test_a_row_with_a_declared_key_is_not_there_twice(
    operation: str, take: Callable[[DataProto], object], actual: str
) -> None:
    data = small().bind(Keyed)
    before = plain(data)

    with refuses(
        operation,
        f"BP023 keys  uid  {actual}; one row for one key; where rows may be copies of one another, the field is a "
        "Group()",
    ):
        take(data)

    assert plain(data) == before
    data.pop([], ["uid"])
    take(data)  # where there is no key, there is nothing that repeats


def test_rows_with_a_key_are_taken_once_in_any_order() -> None:
    data = small().bind(Keyed)

    assert list(data[[3, 0]].non_tensor_batch["uid"]) == ["d", "a"]
    assert list(data.repeat(1).non_tensor_batch["uid"]) == ["a", "b", "c", "d"]
    assert list(data.sample_level_repeat([1, 0, 0, 1]).non_tensor_batch["uid"]) == ["a", "d"]
    assert len(data[[]]) == len(data[:0][[]]) == 0
    data.reorder([2, 0])
    assert list(data.non_tensor_batch["uid"]) == ["c", "a"]
    assert [len(part) for part in data.make_iterator(1, 2)] == [1] * 4
    assert len(data.unfold_column_chunks(2, ["ids"])) == 4  # which no schema binds


def test_pad_rows_with_a_key_may_be_there_twice() -> None:
    padded, _ = pad_dataproto_to_divisor(small().bind(Keyed), 3)

    assert padded.pad_mask.sum() == 2
    assert len(padded[[0, 4, 4, 5]]) == 4
    with refuses(
        "__getitem__",
        "BP023 keys  uid  row 0, 2 times; one row for one key; where rows may be copies of one another, the field is a "
        "Group()",
    ):
        padded[[4, 4, 0, 0]]


def test_a_key_of_two_fields_is_named_by_both() -> None:
    class Pair(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        score: Annotated[NonTensor[float], Key()]

    with refuses(
        "repeat",
        "BP023 keys  uid, score  row 0, 2 times; one row for one key; where rows may be copies of one another, the "
        "field is a Group()",
    ):
        small().bind(Pair).repeat(2)
