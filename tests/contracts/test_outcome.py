"""What the caller gets: the fields that were written, in the kind of the caller's batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float32, Int64
from tensordict import NonTensorData
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchError, BatchSchema, ContractError, Meta, NonTensor, StageSchema
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    in_every_container,
    refusal,
    rewards,
    run,
    scored,
    store_of,
    stores_of,
    written,
)

NAMES = {"rewards", "response_mask", "values", "uid", "data_source", "gamma", "global_steps"}


# --- a function that returns its input -------------------------------------------------------------------------------


def put_returns(data: Any) -> Any:
    store_of(data, "tensor")["returns"] = RETURNS
    return data


@in_every_container
def test_a_function_that_returns_its_input_updates_the_callers_own_batch(container: Container) -> None:
    batch = scored(container)

    result = run(put_returns, batch)

    assert result is batch
    assert set(stores_of(batch).names()) == NAMES | {"returns"}, "the default of `scale` does not enter the batch"
    assert torch.equal(stores_of(batch).tensors["returns"], RETURNS)


@in_every_container
def test_the_callers_batch_is_as_it_was_when_the_result_is_refused(container: Container) -> None:
    """One of two writes is good; neither arrives."""

    def two_writes(data: Any) -> Any:
        put_returns(data)
        store_of(data, "tensor")["norms"] = torch.ones(4)
        return data

    batch = scored(container)
    with pytest.raises(ContractError, match="BP004 unasked  norms"):
        run(two_writes, batch)

    assert set(stores_of(batch).names()) == NAMES


@in_every_container
def test_names_that_are_set_and_not_returned_are_scratch(container: Container) -> None:
    def scratching(data: Any) -> DataProto:
        store_of(data, "tensor")["halves"] = torch.full((4,), 0.5)
        store_of(data, "tensor").pop("response_mask")
        return written(returns=RETURNS)

    batch = scored(container)
    result = run(scratching, batch)

    assert stores_of(result).names() == ["returns"]
    assert set(stores_of(batch).names()) == NAMES


def test_scratch_in_columns_and_meta_stays_in_the_stage_too() -> None:
    def scratching(data: DataProto) -> None:
        data.non_tensor_batch["note"] = data.non_tensor_batch.pop("uid")
        data.meta_info["seconds"] = data.meta_info.pop("gamma")

    batch = scored()
    run(scratching, batch)

    assert set(stores_of(batch).names()) == NAMES


@in_every_container
def test_a_stage_leaves_the_callers_batch_alone(container: Container) -> None:
    batch = scored(container)

    result = run(lambda data: written(returns=RETURNS), batch)

    assert result is not batch
    assert set(stores_of(batch).names()) == NAMES


# --- rewrites --------------------------------------------------------------------------------------------------------


class Shorten(StageSchema):
    """A rewrite may change shape and dtype."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        uid: NonTensor[str]

    class Writes(BatchSchema):
        rewards: Int64[Tensor, "batch kept"]
        uid: Meta[str]


@stage(Shorten)
def shorten(data: DataProto) -> DataProto:
    assert data.batch is not None
    return DataProto.from_dict({"rewards": data.batch["rewards"][:, :2].long()}, {}, {"uid": "one"})


def test_a_rewrite_replaces_the_field_on_union() -> None:
    batch = scored()

    batch.union(shorten(batch))

    assert batch.batch is not None
    assert batch.batch["rewards"].tolist() == [[1, 2], [4, 5], [7, 8], [10, 11]]
    assert (batch.meta_info["uid"], "uid" in batch.non_tensor_batch) == ("one", False)
    assert batch.last_writer("rewards") == batch.last_writer("uid") == "shorten"


def test_a_write_that_is_no_rewrite_does_not_replace_anything() -> None:
    class Overwrite(StageSchema):
        class Writes(BatchSchema):
            values: Float32[Tensor, "batch response"]

    @stage(Overwrite)
    def overwrite(data: DataProto) -> DataProto:
        return DataProto.from_dict({"values": torch.zeros(4, 3)})

    batch = scored()
    result = overwrite(batch)

    assert refusal(lambda: batch.union(result), BatchError) == (
        "1 problem in DataProto.union; nothing was changed\n\n"
        "  BP041 conflict  values  the sides differ: 12 elements differ by up to 12, first in row 0; "
        "equal values, or on_conflict='left' or 'right'"
    )


@in_every_container
def test_a_rewrite_in_the_returned_input_moves_the_field_to_its_new_store(container: Container) -> None:
    @stage(Shorten)
    def in_place(data: Any) -> Any:
        tensors, columns, meta = (store_of(data, store) for store in ("tensor", "column", "meta"))
        tensors["rewards"] = tensors["rewards"][:, :2].long()
        columns.pop("uid")
        meta["uid"] = NonTensorData("one", batch_size=[4]) if meta is data else "one"
        return data

    batch = scored(container)
    in_place(batch)
    stores = stores_of(batch)

    assert stores.tensors["rewards"].dtype is torch.int64
    assert stores.meta["uid"] == "one"
    assert "uid" not in stores.columns


# --- drops -----------------------------------------------------------------------------------------------------------


class DropValues(ComputeReturns):
    drops = ("values", "data_source", "global_steps", "nobody_has_it")


@in_every_container
def test_drops_leave_the_batch_of_a_function_that_returns_its_input(container: Container) -> None:
    batch = scored(container)

    stage(DropValues)(put_returns)(batch)

    assert set(stores_of(batch).names()) == {"rewards", "response_mask", "uid", "gamma", "returns"}


# --- who wrote it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [put_returns, lambda data: written(returns=RETURNS)], ids=["own input", "a new one"]
)
def test_the_batch_remembers_who_wrote_a_field(function: Any) -> None:
    batch = scored()

    batch.union(run(function, batch))

    assert (batch.last_writer("returns"), batch.last_writer("rewards")) == ("compute", None)


def test_the_last_writer_counts() -> None:
    class Again(StageSchema):
        class Reads(BatchSchema):
            returns: Float32[Tensor, "batch response"]

        class Writes(BatchSchema):
            returns: Float32[Tensor, "batch response"]

    @stage
    def again(batch: Again.Reads) -> Again.Writes:
        return Again.Writes(returns=batch.returns + 1)

    batch = scored()
    batch.union(run(put_returns, batch))
    batch.union(again(batch))

    assert batch.last_writer("returns") == "again"
    assert torch.equal(batch.batch["returns"], RETURNS + 1)


def test_a_result_that_is_what_was_written_is_given_on_as_it_is() -> None:
    """No copy: the very object that the function made."""
    made: list[DataProto] = []

    def making(data: DataProto) -> DataProto:
        made.append(written(returns=RETURNS))
        return made[0]

    assert run(making) is made[0]


# --- kinds of results ------------------------------------------------------------------------------------------------


@in_every_container
def test_none_is_passed_on(container: Container) -> None:
    """This rank has no output."""
    assert run(lambda data: None, scored(container)) is None


@in_every_container
def test_a_tuple_is_checked_in_its_first_part_and_passed_on(container: Container) -> None:
    batch = scored(container)

    result, seconds, note = run(lambda data: (written(returns=RETURNS), 3, "slow"), batch)

    assert type(result) is type(batch)
    assert stores_of(result).names() == ["returns"]
    assert (seconds, note) == (3, "slow")
    with pytest.raises(ContractError, match="BP001 missing  returns"):
        run(lambda data: (DataProto(), 3), batch)


def test_a_tuple_may_start_with_none() -> None:
    assert run(lambda data: (None, 3)) == (None, 3)


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (5, "int 5"),
        (rewards(), "f32[4, 3]"),
        ({"returns": RETURNS}, "dict of 1"),
        ([written(returns=RETURNS)], "list of 1"),
        ((), "tuple of 0"),
    ],
)
def test_anything_else_is_refused(result: object, shown: str) -> None:
    assert refusal(lambda: run(lambda data: result)) == (
        "1 problem where stage 'compute' returns its result\n\n"
        f"  BP035 result  result  returned {shown}; "
        "a stage returns its Writes, a batch, None, or a tuple that starts with one"
    )


def test_another_schema_than_the_writes_is_refused_with_the_right_one() -> None:
    reads = ComputeReturns.Reads(rewards=rewards())

    assert refusal(lambda: run(lambda data: reads)) == (
        "1 problem where stage 'compute' returns its result\n\n"
        "  BP035 result  result  returned Reads; "
        "a stage returns its Writes, a batch, None, or a tuple that starts with one; return ComputeReturns.Writes(...)"
    )
