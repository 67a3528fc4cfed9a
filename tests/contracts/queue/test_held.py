"""What TransferQueue does not hold, or holds elsewhere than it is declared: told before anything is fetched."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Meta, NonTensor, StageSchema, Tag
from tests.contracts.queue.support import everything, put, refused, scale, seen

pytestmark = [pytest.mark.peers, pytest.mark.ray, pytest.mark.slow]


def test_keys_under_which_nothing_is_are_named(queue: Any, partition: str) -> None:
    """D5: rows that were cleared before they are read are an error, not fewer rows."""
    keys = put(queue, everything(8), partition)
    queue.kv_clear([f"k{row}" for row in range(7)], partition)

    error = refused(scale, keys)

    assert str(error) == (
        "1 problem where stage 'scale' reads its batch\n\n"
        "  BP054 absent  batch  TransferQueue holds nothing under keys 'k0', 'k1', 'k2', 'k3', 'k4', 'k5' and 1 more "
        f"of partition '{partition}' (7 of 8); the call is for 8 rows; were they cleared, or never put?"
    )


def test_a_partition_that_is_not_there_is_named(queue: Any, partition: str) -> None:
    """D5."""
    kind = queue.KVBatchMeta

    error = refused(scale, kind(keys=["a"], tags=[{"priority": 1.0}], partition_id="nowhere"))

    assert "TransferQueue holds nothing under key 'a' of partition 'nowhere' (1 of 1)" in str(error)


@pytest.mark.parametrize("optional", [False, True])
def test_a_field_that_some_rows_lack_is_an_error(
    queue: Any, partition: str, fetched: list[list[str]], optional: bool
) -> None:
    """D5: neither the rows nor the field are left out."""

    class Required(StageSchema):
        class Reads(BatchSchema):
            ids: Int64[Tensor, "batch length"]
            extra: Float32[Tensor, "batch length"]

        class Writes(BatchSchema):
            pass

    class Optional(Required):
        class Reads(BatchSchema):
            ids: Int64[Tensor, "batch length"]
            extra: Float32[Tensor, "batch length"] | None = None

    @stage(Optional if optional else Required)
    def use(data: DataProto) -> None:
        return None

    keys = put(queue, everything(), partition)
    some = put(queue, DataProto.from_dict({"extra": torch.ones(2, 3)}), partition, tags=())

    error = refused(use, keys)

    assert some.keys == ["k0", "k1"]
    assert str(error) == (
        "1 problem where stage 'use' reads its batch\n\n"
        f"  BP054 absent  extra  keys 'k2', 'k3' of partition '{partition}' (2 of 4) lack it; "
        'declared f32 "batch length"; put it for them, or call the stage with the keys that have it'
    )
    assert fetched == []


def test_a_tag_that_some_rows_lack_is_an_error(queue: Any, partition: str) -> None:
    """D5."""
    keys = put(queue, everything(), partition)
    del keys.tags[2]["priority"]

    error = refused(scale, keys)

    assert f"BP054 absent  priority  key 'k2' of partition '{partition}' (1 of 4) lacks it; declared tag float" in str(
        error
    )


def test_an_optional_field_that_no_row_has_is_not_asked_for(
    queue: Any, partition: str, fetched: list[list[str]]
) -> None:
    class Optional(StageSchema):
        class Reads(BatchSchema):
            ids: Int64[Tensor, "batch length"]
            extra: Float32[Tensor, "batch length"] | None = None

        class Writes(BatchSchema):
            pass

    @stage
    def use(batch: Optional.Reads) -> Optional.Writes:
        assert batch.extra is None
        return Optional.Writes()

    use(put(queue, everything(), partition))

    assert fetched == [["ids"]]


def test_everything_that_is_not_as_declared_is_told_at_once_and_before_it_is_fetched(
    queue: Any, partition: str, fetched: list[list[str]]
) -> None:
    class Wrong(StageSchema):
        class Reads(BatchSchema):
            mazk: Int64[Tensor, "batch length"]
            uid: Tag[str]
            priority: NonTensor[float]
            score: Meta[float]
            temperature: Float32[Tensor, "batch"]
            ids: Int64[Tensor, "batch length"]
            step: Meta[int]

        class Writes(BatchSchema):
            pass

    @stage(Wrong)
    def use(data: DataProto) -> None:
        return None

    error = refused(use, put(queue, everything(), partition))

    hint = "a tag and a column are two places in TransferQueue; where it may be either, declare both"
    assert str(error) == (
        "6 problems where stage 'use' reads its batch\n\n"
        "  BP001 missing  mazk         declared i64 \"batch length\"; closest name there: 'mask'\n"
        f"  BP003 place    uid          a column of objects in TransferQueue; declared tag, one per row; {hint}\n"
        f"  BP003 place    priority     a tag in TransferQueue; declared non-tensor, one per row; {hint}\n"
        "  BP003 place    score        f32[1] per row in TransferQueue; declared meta, one for the batch\n"
        '  BP003 place    temperature  a value in extra_info, one for the batch; declared f32 "batch"\n'
        "  BP001 missing  step         declared meta int; no name in partition "
        f"'{partition}' is close"
    )
    assert fetched == []


def test_rows_that_were_cleared_between_the_look_and_the_fetch_are_named(
    queue: Any, partition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D5."""
    keys = put(queue, everything(), partition)
    client = queue.get_client()
    plain = client.async_get_data

    async def late(metadata: Any) -> Any:
        await queue.async_kv_clear(["k1"], partition)
        return await plain(metadata)

    monkeypatch.setattr(client, "async_get_data", late)
    error = refused(scale, keys)

    assert f"TransferQueue holds nothing under key 'k1' of partition '{partition}' (1 of 4)" in str(error)


def test_rows_of_different_shapes_are_not_dense(queue: Any, partition: str) -> None:
    """J3: a field that is declared dense is dense, or the layout is a violation."""
    data = everything()
    data.batch["ids"] = data.batch["tokens"]

    error = refused(scale, put(queue, data, partition))

    assert str(error) == (
        "1 problem where stage 'scale' reads its batch\n\n"
        '  BP015 layout  ids  jagged, i64[4, jagged], declared dense "batch length"'
    )


def test_a_column_of_one_value_each_is_not_a_column_of_rows_of_length_one(queue: Any, partition: str) -> None:
    data = everything()
    data.batch["score"], data.batch["one"] = data.batch["one"], data.batch["score"]

    error = refused(seen, put(queue, data, partition), [])

    assert [(v.code, v.field, v.actual) for v in error.violations] == [
        ("BP011", "score", "f32[4, 1]"),
        ("BP011", "one", "f32[4]"),
    ]


def test_objects_are_no_tensor(queue: Any, partition: str) -> None:
    data = everything()
    data.batch.pop("ids")
    data.non_tensor_batch["ids"] = data.non_tensor_batch["uid"]

    error = refused(scale, put(queue, data, partition))

    assert [(v.code, v.field, v.actual) for v in error.violations] == [
        ("BP003", "ids", "4 objects in non_tensor_batch")
    ]


@pytest.mark.parametrize(
    ("keys", "actual"),
    [
        ({"keys": [], "tags": [], "partition_id": "p"}, "no keys"),
        ({"keys": ["a"], "tags": [{}]}, "keys of no partition"),
    ],
)
def test_keys_that_name_no_rows_are_refused(queue: Any, keys: dict[str, Any], actual: str) -> None:
    error = refused(scale, queue.KVBatchMeta(**keys))

    assert [(v.code, v.actual) for v in error.violations] == [("BP036", actual)]


def test_a_process_that_is_not_connected_says_so(queue: Any, partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = put(queue, everything(), partition)
    monkeypatch.setattr(queue.interface, "_TQ_CLIENT", None)

    error = refused(scale, keys)

    assert str(error) == (
        "1 problem where a stage is called with keys\n\n"
        "  BP036 call  batch  this process is not connected to TransferQueue; a stage was called with keys; "
        "call transfer_queue.init() first; where a controller is running it only connects to it"
    )
