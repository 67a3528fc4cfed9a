"""Stages that are called with TransferQueue's keys: what they are handed, and what their callers get."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from batchpact.contracts import ContractWarning, Event, checking, observe, stage
from batchpact.dataproto import DataProto, column, equal
from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor, StageSchema, Tag, When, meta, present
from tests.contracts.queue.support import CELLS, Copy, Scale, everything, put, refused, scale, scaled, seen

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


def same(fetched: DataProto, plain: DataProto) -> None:
    """Two batches are alike in values, dtypes and layouts."""
    assert fetched == plain
    assert list(fetched.non_tensor_batch["cells"]) == list(plain.non_tensor_batch["cells"])
    assert fetched.non_tensor_batch["cells"].dtype == object
    for key, tensor in plain.batch.items():
        other = fetched.batch[key]
        assert (key, other.dtype, other.layout) == (key, tensor.dtype, tensor.layout)
        assert getattr(other, "_ragged_idx", None) == getattr(tensor, "_ragged_idx", None)


# --- what a stage is handed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [[1, 2, 3, 4], [3, 3, 3, 3], [2]], ids=["uneven", "even", "one row"])
def test_a_stage_is_handed_what_it_would_be_without_the_queue(queue: Any, partition: str, lengths: list[int]) -> None:
    """J3: layouts are as declared, whatever lengths the rows have today."""
    data = everything(len(lengths), lengths)
    handed: list[DataProto] = []

    seen(data, handed)
    seen(put(queue, data, partition), handed)

    same(handed[1], handed[0])


@pytest.mark.parametrize(
    "cell", [*CELLS, [1, 2], torch.ones(2), torch.tensor(1.0), np.arange(3), {"a": torch.ones(1)}], ids=repr
)
def test_a_column_of_like_cells_stays_a_column(queue: Any, partition: str, cell: Any) -> None:
    """However many rows there are, and whatever tensordict would like to stack."""
    for rows in (1, 3):
        data = everything(rows)
        data.non_tensor_batch["cells"] = column([cell] * rows)
        handed: list[DataProto] = []

        seen(put(queue, data, f"{partition}_{rows}"), handed)

        cells = handed[0].non_tensor_batch["cells"]
        assert (cells.dtype, cells.shape) == (object, (rows,))
        assert equal(cells, data.non_tensor_batch["cells"])
        assert [type(found) for found in cells] == [type(cell)] * rows


def test_jagged_fields_of_one_dim_can_be_added(queue: Any, partition: str) -> None:
    handed: list[DataProto] = []

    seen(put(queue, everything(), partition), handed)

    total = handed[0].batch["tokens"] + handed[0].batch["log_probs"]
    assert [row.shape for row in total.unbind()] == [(1,), (2,), (3,), (4,)]


def test_only_declared_columns_are_fetched(queue: Any, partition: str, fetched: list[list[str]]) -> None:
    """M10: the projection is derived from the reads; nobody writes a list of columns."""
    events: list[Event] = []

    with observe(events.append):
        scale(put(queue, everything(), partition))

    assert fetched == [["ids"]]
    assert events[0].shipped == {"ids": 4 * 3 * 8}
    assert (events[0].fields_read, events[0].fields_written) == (3, 3)


def test_a_tag_and_meta_are_known_without_a_fetch(queue: Any, partition: str, fetched: list[list[str]]) -> None:
    class Rank(StageSchema):
        class Reads(BatchSchema):
            priority: Tag[float]

        class Writes(BatchSchema):
            ranked: Meta[list[float]]

    @stage(Rank)
    def rank(data: DataProto) -> DataProto:
        return DataProto.from_dict(meta_info={"ranked": sorted(data.non_tensor_batch["priority"], reverse=True)})

    made = rank(put(queue, everything(), partition))

    assert made.extra_info == {"temperature": 0.7, "ranked": [1.5, 1.0, 0.5, 0.0]}
    assert fetched == []


def test_an_open_stage_is_handed_all_there_is(queue: Any, partition: str) -> None:
    class All(StageSchema):
        class Reads(BatchSchema, extra="allow"):
            ids: Int64[Tensor, "batch length"]

        class Writes(BatchSchema):
            pass

    names: list[str] = []

    @stage(All)
    def note(data: DataProto) -> None:
        names.extend(data.stores().names())

    note(put(queue, everything(), partition))

    assert sorted(names) == sorted(everything().stores().names())


def test_an_undeclared_read_is_told_by_what_the_queue_holds(queue: Any, partition: str) -> None:
    @stage(Scale)
    def peek(data: DataProto) -> DataProto:
        return data.batch["half"]

    error = refused(peek, put(queue, everything(), partition))

    assert str(error) == (
        "1 problem in stage 'peek', which looked for a field it does not declare\n\n"
        "  BP002 withheld  half  the caller's batch holds bf16[3] per row in TransferQueue; the Reads of 'peek' do not "
        "declare it; add half to them"
    )


def test_a_stage_that_records_is_handed_everything_and_tells_what_it_touches(
    queue: Any, partition: str, fetched: list[list[str]], fresh_counts: None
) -> None:
    @stage(Scale, project="record")
    def peek(data: DataProto) -> None:
        assert data.batch["half"].dtype is torch.bfloat16

    keys = put(queue, everything(), partition)

    with pytest.warns(ContractWarning, match="BP002 withheld  half"):
        peek(keys)
    assert fetched == [sorted(keys.fields)]


@pytest.mark.parametrize(("validate", "columns"), [(True, ["ids", "one"]), (False, ["ids", "mask"])])
def test_conditions_are_answered_before_anything_is_fetched(
    queue: Any, partition: str, fetched: list[list[str]], validate: bool, columns: list[str]
) -> None:
    class Conditional(StageSchema):
        class Reads(BatchSchema):
            ids: Int64[Tensor, "batch length"]
            one: Annotated[Float32[Tensor, "batch 1"], When(meta("validate"))]
            mask: Annotated[Bool[Tensor, "batch length"], When(~meta("validate") & present("half"))]
            other: Annotated[Float32[Tensor, "batch"], When(present("nowhere"))]

        class Writes(BatchSchema):
            pass

    @stage(Conditional)
    def use(data: DataProto) -> None:
        assert sorted(data.batch.keys()) == columns

    keys = put(queue, everything(), partition)
    keys.extra_info["validate"] = validate

    use(keys)

    assert fetched == [columns]


def test_at_level_off_no_more_is_fetched_and_nothing_is_checked(
    queue: Any, partition: str, fetched: list[list[str]]
) -> None:
    class Rank(StageSchema):
        class Reads(BatchSchema):
            ids: Float32[Tensor, "batch 7"]

        class Writes(BatchSchema):
            ids: Float32[Tensor, "batch 7"]

    @stage(Rank, level="off")
    def keep(data: DataProto) -> DataProto:
        return data

    keys = put(queue, everything(), partition)

    assert keep(keys) == keys
    assert fetched == [["ids"]]


def test_a_contract_that_only_warns_runs_the_stage(queue: Any, partition: str, fresh_counts: None) -> None:
    class Rank(StageSchema):
        class Reads(BatchSchema):
            ids: Float32[Tensor, "batch length"]
            missing: NonTensor[str]

        class Writes(BatchSchema):
            pass

    @stage(Rank)
    def use(data: DataProto) -> None:
        assert data.batch["ids"].dtype is torch.int64

    with checking(action="warn"), pytest.warns(ContractWarning, match="2 problems where stage 'use' reads its batch"):
        use(put(queue, everything(), partition))


# --- what becomes of the result ---------------------------------------------------------------------------------------


def test_what_was_written_is_put_under_the_same_keys(queue: Any, partition: str) -> None:
    data = everything()
    keys = put(queue, data, partition)
    before = asdict(keys)

    made = scale(keys)

    assert asdict(keys) == before
    assert type(made) is type(keys)
    assert (made.keys, made.partition_id) == (keys.keys, partition)
    assert made.fields == [*keys.fields, "scaled"]
    assert made.extra_info == {"temperature": 0.7, "scale": 0.7}
    assert made.tags == [{"priority": row / 2, "urgent": row > 1} for row in range(4)]
    assert queue.kv_list(partition)[partition] == dict(zip(made.keys, made.tags, strict=True))
    stored = queue.kv_batch_get(keys.keys, partition, select_fields=["scaled"])["scaled"]
    assert torch.equal(torch.stack(stored.unbind()), data.batch["ids"].float() * 0.7)


def copying(data: DataProto) -> Any:
    @stage(Copy)
    def copy(batch: DataProto) -> DataProto:
        return data

    return copy


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5), seed=st.integers(0, 50))
def test_what_one_stage_writes_the_next_one_reads(queue: Any, lengths: list[int], seed: int) -> None:
    """The queue in between changes nothing: a plain call hands out the same."""
    data = everything(len(lengths), lengths, seed)
    handed: list[DataProto] = []
    keys = put(queue, DataProto.from_dict(non_tensors={"uid": list(data.non_tensor_batch["uid"])}), f"d{seed}", tags=())

    seen(data, handed)
    seen(copying(data)(keys), handed)

    same(handed[1], handed[0])
    queue.kv_clear(keys.keys, f"d{seed}")


class Double(StageSchema):
    """Rewrites a column."""

    class Reads(BatchSchema):
        ids: Int64[Tensor, "batch length"]

    class Writes(BatchSchema):
        ids: Int64[Tensor, "batch length"]


def test_a_rewrite_replaces_the_column(queue: Any, partition: str) -> None:
    @stage(Double)
    def double(data: DataProto) -> DataProto:
        data.batch["ids"].mul_(2)
        return data

    handed: list[DataProto] = []
    data = everything()

    seen(double(put(queue, data, partition)), handed)

    assert torch.equal(handed[0].batch["ids"], data.batch["ids"] * 2)
    assert torch.equal(handed[0].batch["half"], data.batch["half"])


def test_keys_that_say_little_are_enough(queue: Any, partition: str) -> None:
    """`fields` that name everything go on to, and meta may be none."""
    put(queue, everything(), partition)
    keys = queue.KVBatchMeta(keys=["k2", "k0"], tags=[{}, {}], partition_id=partition, extra_info=None)
    handed: list[DataProto] = []

    @stage(Double)
    def double(data: DataProto) -> DataProto:
        handed.append(data)
        return DataProto.from_dict({"ids": data.batch["ids"] * 2})

    made = double(keys)

    assert handed[0].batch["ids"].tolist() == [[6, 7, 8], [0, 1, 2]]
    assert (made.fields, made.extra_info) == (None, {})
    assert queue.kv_list(partition)[partition]["k2"] == {"priority": 1.0}


def test_none_is_no_result_and_a_tuple_keeps_its_rest(queue: Any, partition: str) -> None:
    @stage
    def both(batch: Scale.Reads) -> Scale.Writes:
        return Scale.Writes(**scaled(batch.ids, list(batch.priority), batch.temperature)), {"loss": 1.0}  # type: ignore[return-value]

    @stage
    def none(batch: Scale.Reads) -> Scale.Writes:
        return None  # type: ignore[return-value]

    keys = put(queue, everything(), partition)

    made, metrics = both(keys)  # type: ignore[misc]

    assert made.fields == [*keys.fields, "scaled"]
    assert metrics == {"loss": 1.0}
    assert none(keys) is None


def test_methods_arguments_and_keywords_are_as_in_any_call(queue: Any, partition: str) -> None:
    class Scores(StageSchema):
        class Reads(BatchSchema):
            score: Float32[Tensor, "batch"]
            factor: Arg[float] = 1.0

        class Writes(BatchSchema):
            scores: Float32[Tensor, "batch"]

    class Critic:
        @stage
        def scores(self, batch: Scores.Reads, plus: float) -> Scores.Writes:
            return Scores.Writes(scores=batch.score * batch.factor + plus)

    data = everything()
    keys = put(queue, data, partition)

    made = Critic().scores(batch=keys, plus=1.0, factor=3.0)  # type: ignore[call-overload]

    stored = queue.kv_batch_get(made.keys, partition, select_fields=["scores"])["scores"]
    assert torch.equal(stored, data.batch["score"] * 3 + 1)


def test_numeric_columns_come_back_as_pythons_own_values(queue: Any, partition: str) -> None:
    class Lengths(StageSchema):
        class Reads(BatchSchema):
            ids: Int64[Tensor, "batch length"]

        class Writes(BatchSchema):
            lengths: NonTensor[int]

    class Use(StageSchema):
        class Reads(BatchSchema):
            lengths: NonTensor[int]

        class Writes(BatchSchema):
            pass

    found: list[object] = []

    @stage(Lengths)
    def lengths(data: DataProto) -> DataProto:
        return DataProto.from_dict(non_tensors={"lengths": torch.arange(4).numpy()})

    @stage
    def use(batch: Use.Reads) -> Use.Writes:
        found.extend(batch.lengths)
        return None  # type: ignore[return-value]

    with checking("values"):
        use(lengths(put(queue, everything(), partition)))

    assert [(type(value), value) for value in found] == [(int, 0), (int, 1), (int, 2), (int, 3)]
