"""Tensors have sizes for the names of their axes; an integer in meta or among the arguments has one for its own."""

from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Meta, NonTensor
from batchpact.schemas.dim_names import binds_dim, bound_names


class Mixed(BatchSchema):
    scores: Float32[Tensor, "batch response 4 heads=2 prompt+extra _ ..."]
    uid: NonTensor[int]
    prompt: Meta[int]
    n: Arg[int]
    temperature: Meta[float]
    length: Meta[int] | Int64[Tensor, "batch"]


FIELDS = Mixed.__batchpact__.spec.fields


def test_an_integer_that_is_never_a_tensor_binds_the_dim_of_its_name() -> None:
    assert [field.key for field in FIELDS if binds_dim(field)] == ["prompt", "n"]


def test_plain_axes_and_integers_have_a_size_and_arithmetic_has_none() -> None:
    assert bound_names(FIELDS) == {"batch", "response", "prompt", "n"}
    assert bound_names(()) == set()
