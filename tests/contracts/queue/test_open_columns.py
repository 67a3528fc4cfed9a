"""Open columns on TransferQueue: exactly the named columns are fetched, and the named ones are put."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.contracts import stage
from batchpact.schemas import BatchSchema, Columns, Meta, NonTensor, StageSchema, Tag, meta, named_by
from tests.contracts.queue.support import everything, put, refused

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


class Mark(StageSchema):
    class Reads(BatchSchema):
        ids: Int64[Tensor, "batch length"]
        names: Columns[NonTensor[str]] = named_by(meta("keys"))

    class Writes(BatchSchema):
        made: Meta[list[str]]
        marked: Columns[NonTensor[str]] = named_by(meta("made"))
        lengths: Columns[Tag[int]] = named_by(meta("counted"))
        counted: Meta[list[str]]


@stage
def mark(batch: Mark.Reads) -> Mark.Writes:
    marked = {f"{name}_marked": cells + "!" for name, cells in batch.names.items()}
    lengths = {
        f"{name}_length": torch.tensor([len(cell) for cell in cells]).numpy() for name, cells in batch.names.items()
    }
    return Mark.Writes(made=[*marked], marked=marked, counted=[*lengths], lengths=lengths)


def test_exactly_the_named_columns_are_fetched_and_put(queue: Any, partition: str, fetched: list[list[str]]) -> None:
    keys = put(queue, everything(), partition)
    keys.extra_info["keys"] = ["uid"]

    made = mark(keys)

    assert fetched == [["ids", "uid"]]
    assert made.extra_info["made"] == ["uid_marked"]
    assert "uid_marked" in made.fields
    assert [tag["uid_length"] for tag in made.tags] == [2, 2, 2, 2]
    held = queue.kv_batch_get(keys=made.keys, partition_id=partition, select_fields=["uid_marked"])
    assert list(held["uid_marked"]) == ["u0!", "u1!", "u2!", "u3!"]


def test_names_that_nobody_says_are_told_before_anything_is_fetched(
    queue: Any, partition: str, fetched: list[list[str]]
) -> None:
    keys = put(queue, everything(), partition)

    assert "BP056 columns  names  meta keys is not there" in str(refused(mark, keys))
    keys.extra_info["keys"] = ["uix"]
    assert "BP001 missing  uix  declared non-tensor str, named by meta keys; closest name there: 'uid'" in str(
        refused(mark, keys)
    )
    assert fetched == []
