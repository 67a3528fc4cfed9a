"""The three levels: `off` gives the results of `structure`, `values` reads what it checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from pydantic import Field
from torch import Tensor

from batchpact.contracts import checking, from_rows, stage, use_config
from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema, Binary, Finite, Meta, NonTensor, StageSchema
from batchpact.schemas.equality import difference
from tests.contracts.stages import (
    CONTAINERS,
    ComputeReturns,
    in_every_container,
    refusal,
    returns_of,
    rewards,
    scored,
    store_of,
    stores_of,
)

# --- off -------------------------------------------------------------------------------------------------------------


class Drop(ComputeReturns):
    drops = ("values",)


class Rewrite(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]

    class Writes(BatchSchema):
        rewards: Float32[Tensor, "batch response"]


class Turn(Rewrite):
    rows = "permute"


class Three(Rewrite):
    rows = "new"


def writes(data: Any) -> Any:
    """A typed result, whatever the container."""
    held, gamma = store_of(data, "tensor"), store_of(data, "meta")["gamma"]
    return ComputeReturns.Writes(returns=returns_of(held["rewards"], gamma, store_of(data, "meta")["scale"]))


def in_place(data: Any) -> Any:
    store_of(data, "tensor")["returns"] = writes(data).returns
    return data


def scratching(data: Any) -> Any:
    store_of(data, "tensor")["scratch"] = torch.ones(4)
    return writes(data)


def doubled(data: Any) -> Any:
    return Rewrite.Writes(rewards=store_of(data, "tensor")["rewards"] * 2)


FUNCTIONS: dict[str, tuple[type[StageSchema], Callable[[Any], Any]]] = {
    "a new batch": (ComputeReturns, writes),
    "its input": (ComputeReturns, in_place),
    "scratch names": (ComputeReturns, scratching),
    "nothing": (ComputeReturns, lambda data: None),
    "a tuple": (ComputeReturns, lambda data: (writes(data), 3)),
    "drops": (Drop, in_place),
    "a rewrite": (Rewrite, doubled),
    "other rows": (Turn, lambda data: from_rows(doubled(data), [3, 2, 1, 0])),
    "new rows": (Three, lambda data: Rewrite.Writes(rewards=torch.ones(3, 3))),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@settings(max_examples=12, deadline=None)
@given(
    values=st.lists(st.floats(-10, 10, width=32), min_size=12, max_size=12),
    container=st.sampled_from(list(CONTAINERS.values())),
    scale=st.sampled_from([None, 2.0]),
)
def test_off_drops_checks_and_not_results(kind: str, values: list[float], container: Any, scale: Any) -> None:
    schema, function = FUNCTIONS[kind]
    called = stage(schema, name="compute")(function)

    def run(level: Any) -> tuple[Any, Any]:
        batch = scored(container)
        store_of(batch, "tensor")["rewards"] = torch.tensor(values).reshape(4, 3)
        with checking(level), use_config({} if scale is None else {"algorithm": {"scale": scale}}):
            return batch, called(batch)

    (checked_batch, checked), (free_batch, free) = run("structure"), run("off")

    assert type(free) is type(checked)
    for left, right in ((checked_batch, free_batch), (checked, free)):
        left, right = (part[0] if isinstance(part, tuple) else part for part in (left, right))
        if left is not None:
            assert difference(stores_of(left), stores_of(right)) is None
    assert (free is free_batch) == (checked is checked_batch)


def test_off_passes_other_arguments_through() -> None:
    @stage(Rewrite)
    def scaled(data: DataProto, factor: float, *, shift: float = 0.0) -> DataProto:
        data.batch["rewards"] = data.batch["rewards"] * factor + shift
        return data

    with checking("off"):
        batch = scored()
        result = scaled(batch, 3.0, shift=1.0)

    assert result is batch
    assert torch.equal(batch.batch["rewards"], rewards() * 3 + 1)


def test_off_takes_a_reads_and_gives_its_writes() -> None:
    @stage
    def double(batch: Rewrite.Reads) -> Rewrite.Writes:
        return Rewrite.Writes(rewards=batch.rewards * 2)

    reads = Rewrite.Reads(rewards=rewards())
    with checking("off"):
        results = [double(reads), double(batch=reads)]

    assert [type(result) for result in results] == [Rewrite.Writes] * 2
    assert torch.equal(results[0].rewards, rewards() * 2)
    assert torch.equal(results[1].rewards, rewards() * 2)


def test_off_remembers_who_wrote_a_field() -> None:
    batch = scored()
    with checking("off"):
        batch.union(stage(Rewrite, name="double")(lambda data: DataProto.from_dict({"rewards": rewards() * 2}))(batch))

    assert batch.last_writer("rewards") == "double"
    assert torch.equal(batch.batch["rewards"], rewards() * 2), "a rewrite replaces the field, as it does with checks"


# --- values ----------------------------------------------------------------------------------------------------------


class Measured(StageSchema):
    class Reads(BatchSchema):
        scores: Annotated[Float32[Tensor, "batch n"], Finite()]
        mask: Annotated[Int64[Tensor, "batch n"], Binary()]
        uid: NonTensor[str]
        temperature: Annotated[Meta[float], Field(gt=0)]

    class Writes(BatchSchema):
        share: Annotated[Float32[Tensor, "batch"], Field(ge=0, le=1)]


def batch_of(container: Any, *, healthy: bool) -> Any:
    scores = torch.ones(4, 3)
    if healthy:
        mask, uid, temperature = [[0, 1, 1]] * 4, ["a", "b", "c", "d"], 1.0
    else:
        scores[1, 2], scores[3, 0] = torch.nan, torch.inf
        mask, uid, temperature = [[0, 1, 1], [2, 0, 0], [1, 1, 1], [1, 1, -1]], ["a", 3, "c", None], -1.0
    return container({"scores": scores, "mask": torch.tensor(mask)}, {"uid": uid}, {"temperature": temperature})


@stage
def share(batch: Measured.Reads) -> Measured.Writes:
    return Measured.Writes(share=batch.mask.float().mean(1).clamp(0, 1))


BAD = (
    "4 problems where stage 'share' reads its batch\n\n"
    "  BP021 values  scores       {0}; declared finite\n"
    "  BP021 values  mask         {1}; declared binary\n"
    "  BP006 type    uid          {2}, Input should be a valid string, declared str per row\n"
    "  BP021 values  temperature  Input should be greater than 0; declared float > 0"
)


@in_every_container
def test_values_finds_what_structure_does_not_read(container: Any) -> None:
    share(batch_of(container, healthy=False))
    with checking("values"):
        assert refusal(lambda: share(batch_of(container, healthy=False))) == BAD.format(
            "2 elements in rows 1, 3; 1 NaN, 1 infinite",
            "2 elements in rows 1, 3; the extreme is 2",
            "rows 1, 3: int",
        )


def test_a_sample_looks_at_rows_from_the_first_to_the_last() -> None:
    with checking("values", sample=2):
        assert refusal(lambda: share(batch_of(CONTAINERS["ours"], healthy=False))) == BAD.format(
            "1 element in row 3; 0 NaN, 1 infinite",
            "1 element in row 3; the extreme is -1",
            "row 3: NoneType",
        )


@in_every_container
def test_a_healthy_batch_passes_values(container: Any) -> None:
    with checking("values"):
        result = share(batch_of(container, healthy=True))

    assert torch.allclose(stores_of(result).tensors["share"], torch.full((4,), 2 / 3))


def test_values_reads_the_results_too() -> None:
    wrong = stage(Measured, name="share")(lambda data: DataProto.from_dict({"share": torch.tensor([0.0, 3, -2, 1])}))
    with checking("values"):
        assert refusal(lambda: wrong(batch_of(CONTAINERS["ours"], healthy=True))) == (
            "2 problems where stage 'share' returns its result\n\n"
            "  BP021 values  share  1 element in row 2; the extreme is -2; declared >= 0\n"
            "  BP021 values  share  1 element in row 1; the extreme is 3; declared <= 1"
        )


def test_rules_are_not_read_where_the_structure_is_broken() -> None:
    batch = batch_of(CONTAINERS["ours"], healthy=False)
    batch.non_tensor_batch["uid"] = column(["a"])
    with checking("values"):
        assert refusal(lambda: share(batch)) == (
            "1 problem where stage 'share' reads its batch\n\n"
            "  BP012 shape  uid  1 object, declared non-tensor str; batch=4 in scores and mask\n\n"
            "  dims  batch=4 (scores, mask) 1 (uid)  n=3 (scores, mask)"
        )
