"""What becomes of rows, names and cells that a stage gives back to TransferQueue."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import from_rows, stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Meta, NonTensor, Repeat, StageSchema, Tag
from tests.contracts.queue.support import Scale, everything, put, refused, scaled

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


class Best(StageSchema):
    """Chooses rows."""

    rows = "select"

    class Reads(BatchSchema):
        score: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        place: Int64[Tensor, "batch"]


class Sort(Best):
    rows = "permute"


def choosing(schema: type[StageSchema], order: list[int]) -> Any:
    @stage(schema)
    def choose(data: DataProto) -> DataProto:
        made = DataProto.from_dict({"place": torch.arange(len(order))})
        return from_rows(made, order)

    return choose


@pytest.mark.parametrize(("schema", "order"), [(Best, [2, 0]), (Sort, [3, 1, 0, 2]), (Best, [])])
def test_chosen_rows_are_chosen_keys(queue: Any, partition: str, schema: type[StageSchema], order: list[int]) -> None:
    keys = put(queue, everything(), partition)

    made = choosing(schema, order)(keys)

    assert made.keys == [f"k{row}" for row in order]
    assert made.tags == [{"priority": row / 2} for row in order]
    if order:
        assert queue.kv_batch_get(made.keys, partition, select_fields=["place"])["place"].tolist() == [
            *range(len(order))
        ]


def test_a_key_is_one_row(queue: Any, partition: str) -> None:
    error = refused(choosing(Best, [2, 0, 2]), put(queue, everything(), partition))

    assert str(error) == (
        "1 problem where stage 'choose' returns its result\n\n"
        f"  BP034 origin  batch  the result has key 'k2' of partition '{partition}' (1 of 4) 2 times; in TransferQueue "
        "a key is one row"
    )


class Make(Best):
    rows = "new"


class Again(Best):
    rows = Repeat(2)


@pytest.mark.parametrize(("schema", "rows"), [(Make, "new"), (Again, "repeat(2)")])
def test_rows_without_keys_are_refused_before_anything_is_fetched(
    queue: Any, partition: str, fetched: list[list[str]], schema: type[StageSchema], rows: str
) -> None:
    error = refused(choosing(schema, [0, 0]), put(queue, everything(), partition))

    assert str(error) == (
        "1 problem where stage 'choose' is called\n\n"
        f"  BP036 call  batch  rows = '{rows}', and nobody knows the keys of new rows; with keys, the rows of a stage "
        "are 'same', 'permute' or 'select'; call it with a batch, and put what it returns under keys of your own"
    )
    assert fetched == []


class Double(StageSchema):
    class Reads(BatchSchema):
        ids: Int64[Tensor, "batch length"]

    class Writes(BatchSchema):
        ids: Int64[Tensor, "batch length"]


def test_dropped_names_are_gone_from_the_new_keys(queue: Any, partition: str) -> None:
    class Drop(Double):
        drops = ("half", "priority", "temperature")

    @stage(Drop)
    def drop(data: DataProto) -> DataProto:
        return data

    keys = put(queue, everything(), partition)

    made = drop(keys)

    assert made.fields == [name for name in keys.fields if name != "half"]
    assert made.tags == [{}] * 4
    assert made.extra_info == {}
    assert keys.tags[1] == {"priority": 0.5}


def test_a_field_that_moves_leaves_its_old_place(queue: Any, partition: str) -> None:
    class Move(StageSchema):
        class Reads(BatchSchema):
            uid: NonTensor[str]
            priority: Tag[float]
            temperature: Meta[float]

        class Writes(BatchSchema):
            uid: Tag[str]
            priority: Float32[Tensor, "batch"]
            temperature: NonTensor[float]

    @stage(Move)
    def move(data: DataProto) -> DataProto:
        columns = {"uid": [*data.non_tensor_batch["uid"]], "temperature": [0.5] * 4}
        return DataProto.from_dict({"priority": torch.ones(4)}, columns)

    keys = put(queue, everything(), partition)

    made = move(keys)

    assert made.tags == [{"uid": f"u{row}"} for row in range(4)]
    assert made.extra_info == {}
    assert made.fields == [*(name for name in keys.fields if name != "uid"), "priority", "temperature"]


def test_rows_that_were_cleared_while_the_stage_ran_are_not_made_anew(queue: Any, partition: str) -> None:
    """D5."""

    @stage(Scale)
    def slow(data: DataProto) -> DataProto:
        queue.kv_clear(["k1"], partition)
        made = scaled(data.batch["ids"], list(data.non_tensor_batch["priority"]), 1.0)
        return DataProto.from_dict({"scaled": made["scaled"]}, {"urgent": made["urgent"]}, {"scale": 1.0})

    error = refused(slow, put(queue, everything(), partition))

    assert str(error) == (
        "1 problem where stage 'slow' returns its result\n\n"
        f"  BP054 absent  batch  TransferQueue holds nothing under key 'k1' of partition '{partition}' (1 of 4); "
        "the call is for 4 rows; were they cleared, or never put?"
    )
    assert sorted(queue.kv_list(partition)[partition]) == ["k0", "k2", "k3"]
    assert "scaled" not in queue.get_client().kv_retrieve_meta(["k0"], partition).field_names


class Mark(StageSchema):
    class Reads(BatchSchema):
        score: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        span: NonTensor[object]
        group: Tag[object]


def test_cells_that_would_come_back_as_something_else_are_refused(queue: Any, partition: str) -> None:
    @stage(Mark)
    def mark(data: DataProto) -> DataProto:
        cells = [[1, 2], {"at": (1, 2)}, "x", (3, 4)]
        return DataProto.from_dict(non_tensors={"span": cells, "group": [1, {1}, 2, 3]})

    error = refused(mark, put(queue, everything(), partition))

    expected = "TransferQueue gives lists, dicts, text, numbers, arrays and objects back as they are"
    assert str(error) == (
        "2 problems where stage 'mark' returns its result\n\n"
        f"  BP055 altered  span   tuple at ['at'] in rows 1, 3; {expected}\n"
        f"  BP055 altered  group  set in row 1; {expected}"
    )
    assert queue.kv_list(partition)[partition]["k1"] == {"priority": 0.5}


def test_an_autograd_graph_stays_out_of_the_queue_whatever_the_stage_declares(queue: Any, partition: str) -> None:
    class Loss(StageSchema):
        graph = "allow"

        class Reads(BatchSchema):
            score: Float32[Tensor, "batch"]

        class Writes(BatchSchema):
            loss: Float32[Tensor, "batch"]

    @stage(Loss)
    def loss(data: DataProto) -> DataProto:
        return DataProto.from_dict({"loss": data.batch["score"] * torch.ones(1, requires_grad=True)})

    error = refused(loss, put(queue, everything(), partition))

    assert [violation.code for violation in error.violations] == ["BP032"]


def test_a_result_of_other_rows_is_refused_where_nothing_else_sees_it(queue: Any, partition: str) -> None:
    @stage(Mark, level="off")
    def mark(data: DataProto) -> DataProto:
        return DataProto.from_dict(non_tensors={"span": [1], "group": [1]})

    error = refused(mark, put(queue, everything(), partition))

    assert [(v.code, v.field, v.actual, v.expected) for v in error.violations] == [
        ("BP016", "span", "1 row", "4 rows"),
        ("BP016", "group", "1 row", "4 rows"),
    ]
