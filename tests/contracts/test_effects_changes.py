"""What a stage did to fields that it only reads: in place, in a column, or by returning another value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage
from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, ContractError, NonTensor, StageSchema
from tests.contracts.stages import (
    RETURNS,
    ComputeReturns,
    Container,
    every_store,
    in_every_container,
    ours,
    refusal,
    rewards,
    run,
    scored,
    store_of,
    stores_of,
    written,
)

AT_THE_END = "where stage 'compute' returns its result\n\n"


# --- inputs that were changed ----------------------------------------------------------------------------------------

CHANGED = (
    f"1 problem {AT_THE_END}  BP031 changed  rewards  changed in place; the stage reads it and does not write it; "
    "work on a clone, or declare it in Writes; a tensor that shares its memory may be the one"
)


def add_in_no_grad(tensor: Tensor) -> None:
    with torch.no_grad():
        tensor.add_(1)


CHANGES: dict[str, Callable[[Tensor], object]] = {
    "an operation in place": lambda tensor: tensor.mul_(2),
    "under no_grad": add_in_no_grad,
    "an item": lambda tensor: tensor.__setitem__((0, 0), 9.0),
    "a mask": lambda tensor: tensor.masked_fill_(tensor > 3, 0.0),
    "through a view": lambda tensor: tensor[1:].zero_(),
    "through a transposed view": lambda tensor: tensor.T.add_(1),
    "out=": lambda tensor: torch.add(tensor, 1, out=tensor),
    "foreach": lambda tensor: torch._foreach_add_([tensor], 1.0),
}


@in_every_container
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_an_input_that_is_changed_in_place_is_found(container: Container, change: Callable[[Tensor], object]) -> None:
    def compute(data: Any) -> DataProto:
        change(store_of(data, "tensor")["rewards"])
        return written(returns=RETURNS)

    assert refusal(lambda: run(compute, scored(container))) == CHANGED


def test_it_is_found_where_nothing_is_returned_too() -> None:
    def compute(data: DataProto) -> None:
        data.batch["rewards"].mul_(2)

    assert refusal(lambda: run(compute)) == CHANGED


def test_a_clone_may_be_changed() -> None:
    def compute(data: DataProto) -> DataProto:
        return written(returns=data.batch["rewards"].clone().mul_(2))

    assert torch.equal(run(compute).batch["returns"], rewards() * 2)


def test_fields_that_are_views_of_one_tensor_are_all_named() -> None:
    """They share a counter: the message says that another one may be the one."""
    whole = torch.arange(24.0).reshape(4, 6)
    batch = ours({"left": whole[:, :3], "right": whole[:, 3:]}, {}, {})

    class Two(StageSchema):
        class Reads(BatchSchema):
            left: Float32[Tensor, "batch half"]
            right: Float32[Tensor, "batch half"]

    @stage(Two)
    def halves(data: DataProto) -> None:
        data.batch["left"].zero_()

    with pytest.raises(ContractError) as caught:
        halves(batch)

    assert [(found.code, found.field) for found in caught.value.violations] == [("BP031", "left"), ("BP031", "right")]


def test_nothing_is_said_about_an_input_that_shares_memory_with_a_rewritten_field() -> None:
    whole = torch.arange(24.0).reshape(4, 6)
    batch = ours({"left": whole[:, :3], "right": whole[:, 3:]}, {}, {})

    class Rewrite(StageSchema):
        class Reads(BatchSchema):
            left: Float32[Tensor, "batch half"]
            right: Float32[Tensor, "batch half"]

        class Writes(BatchSchema):
            left: Float32[Tensor, "batch half"]

    @stage(Rewrite)
    def halves(data: DataProto) -> DataProto:
        data.batch["left"].zero_()
        return data

    assert halves(batch).batch["left"].sum() == 0


def test_inference_tensors_have_no_counter_and_pass() -> None:
    with torch.inference_mode():
        batch = scored()
        result = run(lambda data: written(returns=data.batch["rewards"] * 2), batch)

    assert torch.equal(result.batch["returns"], rewards() * 2)


# --- columns and passed-on fields ------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", [False, True])
def test_a_column_that_is_only_read_cannot_be_written_into(typed: bool) -> None:
    def write(cells: Any) -> None:
        cells[0] = "z"

    @stage
    def of_reads(batch: ComputeReturns.Reads) -> None:
        write(batch.uid)

    of_carriers = stage(ComputeReturns)(lambda data: write(data.non_tensor_batch["uid"]))
    batch = scored()

    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
        (of_reads if typed else of_carriers)(batch)
    assert batch.non_tensor_batch["uid"].tolist() == ["a", "a", "b", "b"]


def test_a_column_that_is_rewritten_can_be_written_into() -> None:
    class Rewrite(StageSchema):
        class Reads(BatchSchema):
            uid: NonTensor[str]

        class Writes(BatchSchema):
            uid: NonTensor[str]

    @stage(Rewrite)
    def name_again(data: DataProto) -> DataProto:
        data.non_tensor_batch["uid"][0] = "z"
        return data

    assert name_again(scored()).non_tensor_batch["uid"].tolist() == ["z", "a", "b", "b"]


OTHERS = {
    "tensor": ("rewards", rewards() + 1),
    "column": ("uid", column(["w", "x", "y", "z"])),
    "meta": ("gamma", 0.9),
}


@every_store
def test_a_field_that_is_only_read_cannot_be_returned_with_another_value(store: str) -> None:
    name, value = OTHERS[store]

    def compute(data: DataProto) -> DataProto:
        store_of(data, store)[name] = value
        data.union(written(returns=RETURNS))
        return data

    assert refusal(lambda: run(compute)) == (
        f"1 problem {AT_THE_END}  BP031 changed  {name}  returned with another value; "
        "the stage reads it and does not write it; declare it in Writes too, or leave it out of the result"
    )


def test_a_column_with_the_same_cells_counts_as_passed_on() -> None:
    def compute(data: DataProto) -> DataProto:
        data.non_tensor_batch["uid"] = column(list(data.non_tensor_batch["uid"]))
        data.union(written(returns=RETURNS))
        return data

    batch = scored()

    assert run(compute, batch) is batch


def test_fewer_cells_are_another_value() -> None:
    """A column of other rows is refused even where nobody declares it as written."""

    def compute(data: DataProto) -> DataProto:
        return DataProto.from_dict({}, {"uid": data.non_tensor_batch["uid"][:2]})

    with pytest.raises(ContractError) as caught:
        run(compute)

    assert [(found.code, found.field) for found in caught.value.violations] == [("BP001", "returns"), ("BP031", "uid")]


def test_fields_that_are_passed_on_are_not_part_of_the_result() -> None:
    def compute(data: DataProto) -> DataProto:
        return data.select().union(written(returns=RETURNS))

    assert stores_of(run(compute)).names() == ["returns"]
