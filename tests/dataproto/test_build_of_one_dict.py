"""Making a batch of one dict: tensors and arrays by kind, everything else by the declarations of a schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.dataproto import DataProto, column
from batchpact.schemas import Arg, BatchSchema, ContractError, Meta, NonTensor
from tests.dataproto.support import plain, refuses, says


class Scored(BatchSchema):
    reward: Float32[Tensor, "batch"]
    answers: NonTensor[list[str]]
    temperature: Meta[float]
    stop: Meta[list[str]]
    weights: Meta[np.ndarray] | NonTensor[float]
    seed: Arg[int] = 1


def fields() -> dict[str, Any]:
    return {
        "reward": torch.tensor([1.0, 2.0]),
        "answers": [["a"], ["b"]],
        "temperature": 0.5,
        "stop": ["x", "y"],
        "weights": [0.5, 0.25],
    }


def test_from_single_dict_places_tensors_and_arrays() -> None:
    given = {"ids": torch.arange(2), "score": np.array([1, 2], dtype=np.float32), "uid": column(["a", "b"])}

    data = DataProto.from_single_dict(given, meta_info={"k": 1})

    assert plain(data) == plain(
        DataProto.from_dict({"ids": given["ids"]}, {"score": given["score"], "uid": given["uid"]}, {"k": 1})
    )
    assert list(given) == ["ids", "score", "uid"]


def test_a_schema_places_lists_and_batch_wide_values_by_name() -> None:
    given = fields()

    data = DataProto.from_single_dict(given, schema=Scored)

    assert plain(data) == plain(
        DataProto.from_dict(
            {"reward": given["reward"]},
            {"answers": given["answers"], "weights": given["weights"]},
            {"temperature": 0.5, "stop": ["x", "y"]},
        )
    )
    assert list(given) == list(fields())


def test_a_list_as_long_as_the_batch_is_meta_where_it_is_declared_so() -> None:
    data = DataProto.from_single_dict(fields(), schema=Scored)

    assert [part.meta_info["stop"] for part in data.chunk(2)] == [["x", "y"], ["x", "y"]]
    assert [list(part.non_tensor_batch["answers"]) for part in data.chunk(2)] == [[["a"]], [["b"]]]


def test_the_schema_is_bound_to_the_result() -> None:
    with says(
        ContractError,
        "where a batch is bound to Scored",
        "BP005 dtype  reward  f64, declared f32; cast it where it is made: x.to(torch.float32)",
    ):
        DataProto.from_single_dict({**fields(), "reward": torch.ones(2, dtype=torch.float64)}, schema=Scored)


def test_an_array_where_a_tensor_is_declared_is_an_error_that_says_how_to_convert() -> None:
    with says(
        ContractError,
        "where a batch is bound to Scored",
        'BP003 place  reward  float32[2] in non_tensor_batch; declared f32 "batch"; '
        "torch.from_numpy(column) is the tensor",
    ):
        DataProto.from_single_dict({**fields(), "reward": np.ones(2, dtype=np.float32)}, schema=Scored)


@pytest.mark.parametrize(
    ("value", "shown"), [([0.5, 1.0], "list of 2"), ("text", "str"), (1.5, "float 1.5"), (None, "None")]
)
@pytest.mark.parametrize("schema", [None, Scored])
def test_a_value_whose_place_is_not_plain_is_refused_by_its_key(
    value: Any, shown: str, schema: type[BatchSchema] | None
) -> None:
    """Also the list where a tensor is declared."""
    with refuses(
        "from_single_dict",
        f"BP045 store  reward  {shown}; a tensor, a numpy column, or a field that the schema places; torch.tensor(x) "
        "makes a tensor, column(x) a column; one value for the batch goes into meta_info",
    ):
        DataProto.from_single_dict({"reward": value}, schema=schema)


class Ids(BatchSchema):
    ids: Int64[Tensor, "batch"]


def test_a_declared_tensor_and_an_undeclared_column_are_both_taken() -> None:
    data = DataProto.from_single_dict({"ids": torch.arange(2), "extra": np.array([1, 2])}, schema=Ids)

    assert data.non_tensor_batch["extra"].tolist() == [1, 2]
