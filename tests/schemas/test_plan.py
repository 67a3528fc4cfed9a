"""The plan passes a healthy batch and gives its dims, and passes nothing else."""

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Float32, Int, Int64, Shaped
from tensordict import TensorDict
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Jagged, Meta, NonTensor
from batchpact.schemas.axes import Lengths, offsets_of, same_size
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.stores import Stores

from .support import floats, ids, jagged, jagged_on_2, objects, stores


class Dense(BatchSchema):
    input_ids: Int64[Tensor, "batch prompt+response"]
    scores: Float32[Tensor, "batch response"]
    prompts: Int64[Tensor, "batch prompt"]
    mask: Bool[Tensor, "batch response"]
    hidden: Float32[Tensor, "batch layers=2 _ ..."] | None = None
    uid: NonTensor[str]
    temperature: Meta[float] = 1.0
    coef: Arg[float] = 0.1


def dense(**more: Any) -> Stores:
    """Four rows, prompts of 3 and responses of 5."""
    tensors = {
        "input_ids": ids(4, 8),
        "scores": floats(4, 5),
        "prompts": ids(4, 3),
        "mask": floats(4, 5) > 0,
        **more,
    }
    return stores(tensors, {"uid": objects(*"abcd")}, {"temperature": 0.7, "step": 3})


def sizes(schema: type[BatchSchema], batch: Stores, /, **given: int) -> dict[str, Any] | None:
    """The dims as the plan gives them; the diagnosis agrees."""
    plan = schema.__batchpact__.plan
    found, careful = plan.sizes(batch, given), diagnose(plan, batch, Context(given=given))
    assert (found is None) is bool(careful.violations)
    for name, size in (found or {}).items():
        assert same_size(careful.sizes[name], size)
    return found


# --- dense tensors ----------------------------------------------------------------------------------------------------


def test_a_healthy_batch_gives_the_size_of_every_dim() -> None:
    assert sizes(Dense, dense()) == {"batch": 4, "prompt": 3, "response": 5}
    assert sizes(Dense, dense(hidden=floats(4, 2, 7, 1, 1))) == {"batch": 4, "prompt": 3, "response": 5}


def test_fields_that_nobody_declares_are_free() -> None:
    assert sizes(Dense, dense(other=floats(9, 9))) is not None


def test_zero_rows_are_rows() -> None:
    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch response"]
        uid: NonTensor[str]

    assert sizes(Reads, stores({"scores": floats(0, 5)}, {"uid": objects()})) == {"batch": 0, "response": 5}


def test_a_tensordict_is_a_store_of_tensors() -> None:
    batch = dense()
    tensordict = TensorDict(dict(batch.tensors), batch_size=4)  # type: ignore[arg-type]

    assert sizes(Dense, batch._replace(tensors=tensordict)) == {"batch": 4, "prompt": 3, "response": 5}


@pytest.mark.parametrize("order", [("plain", "computed"), ("computed", "plain")])
def test_plain_names_bind_before_expressions_in_either_order_of_the_fields(order: tuple[str, str]) -> None:
    annotations = {"plain": Float32[Tensor, "batch n"], "computed": Float32[Tensor, "batch n*n//2"]}
    schema = type(BatchSchema)(
        "Reads", (BatchSchema,), {"__annotations__": {key: annotations[key] for key in order}, "__module__": __name__}
    )

    assert sizes(schema, stores({"plain": floats(2, 5), "computed": floats(2, 12)})) == {"batch": 2, "n": 5}
    assert sizes(schema, stores({"plain": floats(2, 5), "computed": floats(2, 13)})) is None


def test_a_single_unknown_name_in_an_expression_is_solved() -> None:
    class Reads(BatchSchema):
        ids: Int64[Tensor, "batch prompt+2*response"]
        prompts: Int64[Tensor, "batch prompt"]

    assert sizes(Reads, stores({"ids": ids(2, 11), "prompts": ids(2, 3)})) == {"batch": 2, "prompt": 3, "response": 4}
    assert sizes(Reads, stores({"ids": ids(2, 10), "prompts": ids(2, 3)})) is None


def test_the_batch_axis_may_be_an_expression() -> None:
    class Writes(BatchSchema):
        responses: Int64[Tensor, "batch*n response"]
        uid: NonTensor[str]

    healthy = stores({"responses": ids(6, 5)}, {"uid": objects(*"abcdef")})
    assert sizes(Writes, healthy, batch=3, n=2) == {"batch": 3, "n": 2, "response": 5}
    assert sizes(Writes, healthy, batch=3, n=3) is None
    assert sizes(Writes, stores({"responses": ids(6, 5)}, {"uid": objects(*"abc")}), batch=3, n=2) is None


# --- sizes that come from elsewhere -----------------------------------------------------------------------------------


class Grouped(BatchSchema):
    scores: Float32[Tensor, "batch n"]
    n: Arg[int] | Meta[int]


@pytest.mark.parametrize("store", ["meta", "args"])
def test_an_integer_in_meta_or_among_the_arguments_binds_a_dim(store: str) -> None:
    batch = stores({"scores": floats(2, 3)})

    assert sizes(Grouped, batch._replace(**{store: {"n": 3}})) == {"batch": 2, "n": 3}
    assert sizes(Grouped, batch._replace(**{store: {"n": 4}})) is None


def test_a_truth_value_binds_no_dim() -> None:
    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch n"]
        n: Meta[int]

    assert sizes(Reads, stores({"scores": floats(2, 3)}, meta={"n": True})) == {"batch": 2, "n": 3}


def test_sizes_may_be_given_by_the_caller() -> None:
    assert sizes(Dense, dense(), response=5) == {"batch": 4, "prompt": 3, "response": 5}
    assert sizes(Dense, dense(), response=6) is None
    assert sizes(Dense, dense(), batch=3) is None


def test_columns_without_tensors_are_held_against_the_rows_that_are_given() -> None:
    class Writes(BatchSchema):
        uid: NonTensor[str]

    three = stores(columns={"uid": objects(*"abc")})
    assert sizes(Writes, three, batch=3) == {"batch": 3}
    assert sizes(Writes, three, batch=4) is None


# --- kinds of tensors -------------------------------------------------------------------------------------------------


class Tagged(Tensor):
    """A subclass with nothing of its own."""


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(
    "tensor",
    [torch.nn.Parameter(floats(2, 3)), floats(2, 3).as_subclass(Tagged), floats(3, 2).t(), floats(2, 1).expand(2, 3)],
    ids=["parameter", "subclass", "transposed", "expanded"],
)
def test_a_dense_tensor_of_any_class_and_stride_is_accepted(tensor: Tensor, required: bool) -> None:
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch n"] if required else Float32[Tensor, "batch n"] | None = ... if required else None

    assert sizes(Reads, stores({"x": tensor})) == {"batch": 2, "n": 3}


@pytest.mark.parametrize(
    ("family", "accepted", "refused"),
    [
        (Float, [torch.float16, torch.bfloat16, torch.float32, torch.float64], [torch.int64, torch.bool]),
        (Int, [torch.int8, torch.int64], [torch.uint8, torch.float32, torch.bool]),
        (Shaped, [torch.float32, torch.int64, torch.bool, torch.complex64], []),
    ],
)
def test_a_family_accepts_its_dtypes(family: Any, accepted: list[torch.dtype], refused: list[torch.dtype]) -> None:
    class Reads(BatchSchema):
        x: family[Tensor, "batch"]
        y: family[Tensor, "batch ..."]

    for dtype in accepted:
        assert sizes(Reads, stores(dict.fromkeys("xy", ids(2).to(dtype)))) == {"batch": 2}
    for dtype in refused:
        assert sizes(Reads, stores({"x": ids(2).to(dtype), "y": ids(2).to(accepted[0])})) is None
        assert sizes(Reads, stores({"x": ids(2).to(accepted[0]), "y": ids(2).to(dtype)})) is None


# --- jagged tensors ---------------------------------------------------------------------------------------------------


class Ragged(BatchSchema):
    input_ids: Annotated[Int64[Tensor, "batch length"], Jagged("length")]
    position_ids: Annotated[Int64[Tensor, "batch 4 length"], Jagged("length")] | None = None


def test_a_jagged_tensor_binds_its_ragged_dim_to_its_lengths() -> None:
    tensor = jagged(2, 0, 3)
    found = sizes(Ragged, stores({"input_ids": tensor}))

    assert found is not None
    assert found["batch"] == 3
    assert isinstance(found["length"], Lengths)
    assert found["length"].offsets is offsets_of(tensor)


def test_ragged_lengths_are_compared_by_identity_or_by_value() -> None:
    tensor = jagged(2, 0, 3)
    same = torch.nested.nested_tensor_from_jagged(ids(4, 5), offsets_of(tensor), jagged_dim=2)

    assert sizes(Ragged, stores({"input_ids": tensor, "position_ids": same})) is not None
    assert sizes(Ragged, stores({"input_ids": tensor, "position_ids": jagged_on_2(4, 2, 0, 3)})) is not None
    assert sizes(Ragged, stores({"input_ids": tensor, "position_ids": jagged_on_2(4, 2, 1, 2)})) is None


# --- columns, meta and two placements ---------------------------------------------------------------------------------


@pytest.mark.parametrize("column", [objects(1.0, 2.0), np.array([1.0, 2.0], dtype=np.float32)], ids=["object", "float"])
def test_a_column_may_be_of_objects_or_numeric(column: Any) -> None:
    class Reads(BatchSchema):
        reward: NonTensor[float]

    assert sizes(Reads, stores(columns={"reward": column})) is not None


def test_a_field_of_two_placements_may_stand_in_either_store() -> None:
    class Reads(BatchSchema):
        scores: Float32[Tensor, "batch response"]
        temperature: Meta[float] | Float32[Tensor, "batch"] | NonTensor[float]

    scores = {"scores": floats(2, 3)}
    for batch, healthy in (
        (stores(scores, meta={"temperature": 0.7}), True),
        (stores(scores, meta={"temperature": "0.7"}), False),
        (stores({**scores, "temperature": floats(2)}), True),
        (stores({**scores, "temperature": floats(3)}), False),
        (stores({**scores, "temperature": floats(2, 1)}), False),
        (stores(scores, {"temperature": objects(0.7, 0.8)}), True),
        (stores(scores, {"temperature": objects(0.7)}), False),
        (stores(scores, {"temperature": [0.7, 0.8]}), False),
        (stores(scores), False),
    ):
        assert sizes(Reads, batch) == ({"batch": 2, "response": 3} if healthy else None)
