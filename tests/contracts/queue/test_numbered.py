"""Rows without keys: `BatchMeta`, as TransferQueue's `get_meta` gives it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, NonTensor, StageSchema
from tests.contracts.queue.support import Read, everything, put, refused, scale, seen
from tests.contracts.queue.test_putting import Sort, choosing

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


def numbered(queue: Any, partition: str, fields: list[str], rows: int = 4) -> Any:
    """The metadata of rows, as a worker asks for it."""
    made = queue.get_client().get_meta(fields, rows, partition, mode="fetch", task_name="test")
    made.extra_info["temperature"] = 0.7
    return made


def test_rows_are_fetched_and_put_by_their_numbers(queue: Any, partition: str, fetched: list[list[str]]) -> None:
    data = everything()
    put(queue, data, partition)
    rows = numbered(queue, partition, ["ids", "mask", "score"])

    made = scale(rows)

    assert type(made) is type(rows)
    assert fetched == [["ids"]]
    assert rows.field_names == ["ids", "mask", "score"]
    assert made.field_names == ["ids", "mask", "scaled", "score"]
    assert made.custom_meta == [{"priority": row / 2, "urgent": row > 1} for row in range(4)]
    assert rows.custom_meta == [{"priority": row / 2} for row in range(4)]
    assert (made.extra_info, rows.extra_info) == ({"temperature": 0.7, "scale": 0.7}, {"temperature": 0.7})
    stored = queue.kv_batch_get([f"k{row}" for row in range(4)], partition, select_fields=["scaled"])["scaled"]
    assert torch.equal(torch.stack(stored.unbind()), data.batch["ids"].float() * 0.7)


def test_a_stage_is_handed_what_it_would_be_without_the_queue(queue: Any, partition: str) -> None:
    data = everything()
    put(queue, data, partition)
    handed: list[DataProto] = []
    columns = [
        field.key for field in Read.Reads.__batchpact__.spec.fields if field.key not in ("priority", "temperature")
    ]

    seen(numbered(queue, partition, columns), handed)

    assert handed[0] == data


def test_rows_that_were_cleared_are_named_by_their_numbers(queue: Any, partition: str) -> None:
    """D5."""
    put(queue, everything(), partition)
    rows = numbered(queue, partition, ["ids"])
    queue.kv_clear(["k1", "k2"], partition)

    error = refused(scale, rows)

    gone = ", ".join(str(rows.global_indexes[row]) for row in (1, 2))
    assert f"TransferQueue holds nothing under rows {gone} of partition '{partition}' (2 of 4)" in str(error)


def test_a_field_that_the_metadata_does_not_name_is_missing(queue: Any, partition: str) -> None:
    put(queue, everything(), partition)

    error = refused(scale, numbered(queue, partition, ["mask"]))

    assert [(v.code, v.field, v.hint) for v in error.violations] == [
        ("BP001", "ids", f"no name in partition '{partition}' is close; ask for it in the data_fields of get_meta")
    ]


def test_a_field_that_is_not_ready_in_all_rows_is_told(queue: Any, partition: str) -> None:
    """D5."""
    put(queue, everything(), partition)
    put(queue, DataProto.from_dict({"extra": torch.ones(3, 3)}), partition, tags=())
    rows = queue.get_client().get_meta(["ids", "extra"], 4, partition, mode="force_fetch")

    class Use(StageSchema):
        class Reads(BatchSchema):
            extra: Float32[Tensor, "batch length"]

        class Writes(BatchSchema):
            pass

    @stage(Use)
    def use(data: DataProto) -> None:
        return None

    error = refused(use, rows)

    (last,) = queue.get_client().kv_retrieve_meta(["k3"], partition).global_indexes
    assert f"BP054 absent  extra  row {last} of partition '{partition}' (1 of 4) lacks it" in str(error)


def test_rows_may_be_put_into_another_order(queue: Any, partition: str) -> None:
    put(queue, everything(), partition)
    rows = numbered(queue, partition, ["score"])

    made = choosing(Sort, [3, 1, 0, 2])(rows)

    assert made.global_indexes == [rows.global_indexes[row] for row in (3, 1, 0, 2)]
    assert made.field_names == ["place", "score"]
    assert [tags["priority"] for tags in made.custom_meta] == [1.5, 0.5, 0.0, 1.0]
    stored = queue.kv_batch_get(["k3", "k1", "k0", "k2"], partition, select_fields=["place"])["place"]
    assert stored.tolist() == [0, 1, 2, 3]


def test_rows_of_two_partitions_are_read_and_not_written(queue: Any, partition: str) -> None:
    data, other = everything(), f"{partition}_b"
    put(queue, data, partition)
    put(queue, data, other)
    parts = [numbered(queue, name, ["uid", "score"]) for name in (partition, other)]
    both = type(parts[0]).concat(parts)
    handed: list[DataProto] = []

    class Look(StageSchema):
        class Reads(BatchSchema):
            uid: NonTensor[str]

        class Writes(BatchSchema):
            place: Int64[Tensor, "batch"]

    @stage(Look)
    def look(data: DataProto) -> DataProto:
        handed.append(data)
        return DataProto.from_dict({"place": torch.arange(8)})

    error = refused(look, both)

    assert list(handed[0].non_tensor_batch["uid"]) == [*data.non_tensor_batch["uid"]] * 2
    assert [(v.code, v.actual) for v in error.violations] == [("BP036", f"rows of partitions {partition} and {other}")]
