"""A bound schema: values are checked when it is bound, structure at every union and concat; nothing is half done."""

from __future__ import annotations

import pickle
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from tensordict import TensorDict
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.schemas import (
    BatchError,
    BatchSchema,
    Binary,
    ContractError,
    Finite,
    Meta,
    MissingFieldError,
    NonTensor,
    StageSchema,
)
from tests.dataproto.support import plain, says

BOUND = "where a batch is bound to Rollout"


class Rollout(BatchSchema):
    responses: Int64[Tensor, "batch response"]
    mask: Annotated[Int64[Tensor, "batch response"], Binary()]
    values: Annotated[Float32[Tensor, "batch response"], Finite()] | None = None
    uid: NonTensor[str]
    temperature: Meta[float]


def rollout(rows: int = 2) -> DataProto:
    return DataProto.from_dict(
        {"responses": torch.arange(rows * 3).reshape(rows, 3), "mask": torch.ones(rows, 3, dtype=torch.int64)},
        {"uid": [f"u{row}" for row in range(rows)]},
        {"temperature": 0.5, "free": [1, 2]},
    )


def bound_to(data: DataProto) -> type[BatchSchema] | None:
    return None if data._bound is None else data._bound.schema


def test_bound_dims_are_held_now_and_at_every_union() -> None:
    message = (
        'BP012 shape  responses  i64[2, 3], declared "batch response"; response=4 in the bound dims',
        'BP012 shape  mask       i64[2, 3], declared "batch response"; response=4 in the bound dims',
    )
    dims = "  dims  response=3 (responses, mask)  batch=2 (responses, mask)"

    with pytest.raises(ContractError) as caught:
        rollout().bind(Rollout, dims={"response": 4})
    assert str(caught.value) == f"2 problems {BOUND}\n\n  {message[0]}\n  {message[1]}\n\n{dims}"

    data = rollout().bind(Rollout, dims={"response": 3})
    with pytest.raises(ContractError, match="response=3 in the bound dims"):
        data.union(DataProto.from_dict({"values": torch.rand(2, 4)}))
    assert "values" not in data.batch.keys()


def test_bind_returns_the_batch_and_undeclared_fields_are_free() -> None:
    data = rollout()

    assert data.bind(Rollout) is data
    assert bound_to(data) is Rollout
    assert plain(data) == plain(rollout())


def test_bind_names_everything_that_is_wrong_and_does_not_bind() -> None:
    data = rollout()
    data.pop(["mask"])
    data.meta_info["temperature"] = "hot"

    with says(
        ContractError,
        BOUND,
        'BP001 missing  mask         declared i64 "batch response"; no name in the batch is close',
        "BP006 type     temperature  str, declared meta float",
    ):
        data.bind(Rollout)

    assert bound_to(data) is None


def test_bind_checks_values() -> None:
    data = rollout()
    assert data.batch is not None
    data.batch["mask"][1, 2] = 5
    data.batch["values"] = torch.tensor([[1.0, float("nan"), 1.0], [1.0, 1.0, float("inf")]])
    data.non_tensor_batch["uid"][1] = 7

    with says(
        ContractError,
        BOUND,
        "BP021 values  mask    1 element in row 1; the extreme is 5; declared binary",
        "BP021 values  values  2 elements in rows 0, 1; 1 NaN, 1 infinite; declared finite",
        "BP006 type    uid     row 1: int, Input should be a valid string, declared str per row",
    ):
        data.bind(Rollout)


def test_a_union_that_breaks_the_schema_joins_nothing() -> None:
    data = rollout().bind(Rollout)
    before = plain(data)

    with says(
        ContractError,
        BOUND,
        'BP012 shape  values  f32[2, 4], declared "batch response"; response=3 in responses and mask',
        "",
        "dims  batch=2 (responses, mask, values)  response=3 (responses, mask) 4 (values)",
    ):
        data.union(DataProto.from_dict({"values": torch.ones(2, 4), "other": torch.ones(2)}))

    assert plain(data) == before


def test_a_union_brings_fields_that_keep_to_the_schema() -> None:
    data = rollout().bind(Rollout)

    data.union(DataProto.from_dict({"values": torch.ones(2, 3), "other": torch.ones(2)}))

    assert data.batch is not None
    assert set(data.batch.keys()) == {"responses", "mask", "values", "other"}


def test_values_are_not_read_again_at_a_union() -> None:
    data = rollout().bind(Rollout)

    data.union(DataProto.from_dict({"values": torch.full((2, 3), float("nan"))}))

    assert data.batch is not None
    assert data.batch["values"].isnan().all()


def test_a_concat_that_breaks_the_schema_is_refused() -> None:
    parts = rollout(4).bind(Rollout).chunk(2)
    for part in parts:
        assert part.batch is not None
        part.batch["mask"] = part.batch["mask"].float()

    with says(
        ContractError,
        BOUND,
        "BP005 dtype  mask  f32, declared i64; cast it where it is made: x.to(torch.int64)",
    ):
        DataProto.concat(parts)


@pytest.mark.parametrize("bound", [0, 1])
def test_a_schema_that_any_part_is_bound_to_counts(bound: int) -> None:
    parts = [rollout(), rollout()]
    parts[bound].bind(Rollout)

    assert bound_to(DataProto.concat(parts)) is Rollout
    for part in parts:
        del part.non_tensor_batch["uid"]
    with says(MissingFieldError, BOUND, "BP001 missing  uid  declared non-tensor str; no name in the batch is close"):
        DataProto.concat(parts)


def test_what_is_derived_keeps_the_schema() -> None:
    data = rollout(4).bind(Rollout)

    derived = [data[:1], data[[1]], data.repeat(2), *data.chunk(2), data.select()]

    assert [bound_to(one) for one in derived] == [Rollout] * 6
    assert bound_to(pickle.loads(pickle.dumps(data))) is Rollout


def test_a_missing_field_is_told_with_who_had_it_last() -> None:
    data = rollout()
    data._reads = {"whiten": ("mask", "responses")}
    data._writers = {"responses": "rollout"}
    data.pop(["mask", "responses"])

    with says(
        MissingFieldError,
        BOUND,
        "BP001 missing  responses  declared i64 \"batch response\"; written by 'rollout', and no longer in the batch",
        "BP001 missing  mask       declared i64 \"batch response\"; last read by 'whiten', and no longer in the batch",
    ):
        data.bind(Rollout)


def test_a_bound_batch_checks_its_rows() -> None:
    class Columns(BatchSchema):
        uid: NonTensor[str]

    data = DataProto(TensorDict({}, batch_size=[2]), {"uid": np.array(["a", "b"])}).bind(Columns)

    assert len(data) == 2


def test_a_batch_from_which_required_fields_were_taken_is_no_longer_bound() -> None:
    data = rollout().bind(Rollout)

    assert bound_to(data.select(batch_keys=["mask"])) is None
    assert bound_to(data.select()) is Rollout
    popped = data.pop(["mask"])
    assert bound_to(popped) is None
    assert bound_to(data) is None
    assert data.union(popped) == rollout()


def test_a_union_into_a_locked_tensordict_leaves_it_alone() -> None:
    data = rollout()
    locked = data.batch.lock_()

    data.union(DataProto.from_dict({"values": torch.rand(2, 3)}))

    assert sorted(locked.keys()) == ["mask", "responses"]
    assert sorted(data.batch.keys()) == ["mask", "responses", "values"]


@pytest.mark.parametrize(
    ("schema", "dims", "text"),
    [
        (StageSchema, {}, "schema  StageSchema is no BatchSchema; bind the Reads or the Writes of a stage"),
        (3, {}, "schema  int 3 is no BatchSchema; bind the Reads or the Writes of a stage"),
        (Rollout, {"respons": 3}, "dims  Rollout has no dim 'respons'; its dims are 'batch' and 'response'"),
    ],
)
def test_what_is_bound_is_a_schema_and_sizes_of_its_dims(schema: Any, dims: dict[str, int], text: str) -> None:
    with pytest.raises(BatchError) as caught:
        rollout().bind(schema, dims=dims)

    assert str(caught.value) == f"1 problem in DataProto.bind; nothing was changed\n\n  BP036 call  {text}"
