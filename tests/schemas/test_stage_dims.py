"""Expressions in the dims of a stage can be computed from what its reads and writes bind."""

from typing import Any

import pytest
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor, StageSchema

from .support import refused


def stage(**fields: Any) -> type[StageSchema]:
    """A stage that reads these fields."""
    reads = type(BatchSchema)("Reads", (BatchSchema,), {"__annotations__": fields, "__module__": __name__})
    return type("Made", (StageSchema,), {"Reads": reads})


@pytest.mark.parametrize(
    ("dim", "unbound"),
    [
        ("prompt+response", "'prompt' and 'response'"),
        ("prompt*prompt", "'prompt'"),
        ("prompt//2", "'prompt'"),
        ("batch*prompt", "'prompt'"),
    ],
)
def test_an_expression_over_names_that_nothing_binds_is_refused(dim: str, unbound: str) -> None:
    with refused("Made", f"x  nothing binds {unbound} in '{dim}'"):
        stage(x=Int64[Tensor, f"batch {dim}"])


@pytest.mark.parametrize("dim", ["prompt+1", "batch+prompt", "2*prompt", "prompt+prompt"])
def test_a_single_unknown_that_stands_alone_follows_from_the_size(dim: str) -> None:
    assert stage(x=Int64[Tensor, f"batch {dim}"]).__batchpact__.reads.fields


@pytest.mark.parametrize(
    "binder",
    [{"n": Meta[int]}, {"n": Arg[int]}, {"y": Float32[Tensor, "batch n"]}],
    ids=["meta", "argument", "another tensor"],
)
def test_names_are_bound_by_integers_and_by_other_tensors(binder: dict[str, Any]) -> None:
    assert stage(x=Int64[Tensor, "batch n//2"], **binder).__batchpact__.reads.fields


@pytest.mark.parametrize(
    "binder",
    [
        {"n": Meta[float]},
        {"n": NonTensor[int]},
        {"n": Meta[int] | NonTensor[int]},
        {"y": Float32[Tensor, "batch n=4"]},
        {"y": Float32[Tensor, "batch *n"]},
    ],
    ids=["a float", "a column", "perhaps a column", "a label", "many axes"],
)
def test_other_things_of_that_name_bind_nothing(binder: dict[str, Any]) -> None:
    with refused("Made", "x  nothing binds 'n' in 'n//2'"):
        stage(x=Int64[Tensor, "batch n//2"], **binder)


def test_reads_bind_for_writes_and_writes_for_reads() -> None:
    class Append(StageSchema):
        class Reads(BatchSchema):
            prompts: Int64[Tensor, "batch prompt"]
            pairs: Int64[Tensor, "batch response//2"]

        class Writes(BatchSchema):
            ids: Int64[Tensor, "batch prompt+response"]
            responses: Int64[Tensor, "batch response"]

    assert Append.__batchpact__.writes.fields[0].places[0].dims == "batch prompt+response"
