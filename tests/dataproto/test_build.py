"""Making a batch by dicts and by stores, and what holds for every one, also after a direct write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.schemas import BatchSchema
from tests.dataproto.support import jagged, jagged_on_2, refuses, small

# --- from_dict --------------------------------------------------------------------------------------------------------


def test_from_dict_holds_the_very_tensors_and_the_meta() -> None:
    ids, mask = torch.arange(6).reshape(3, 2), torch.tensor([True, False, True])
    stop = ["</s>"]

    data = DataProto.from_dict({"ids": ids, "mask": mask}, {"uid": ["a", "b", "c"]}, {"stop": stop})

    assert len(data) == 3
    assert data.batch is not None
    assert data.batch["ids"] is ids
    assert data.batch["mask"] is mask
    assert data.batch.batch_size == (3,)
    assert list(data.non_tensor_batch["uid"]) == ["a", "b", "c"]
    assert data.meta_info["stop"] is stop


def test_from_dict_leaves_the_dicts_of_the_caller_alone() -> None:
    """Case A2."""
    tensors = {"ids": torch.arange(3)}
    columns = {"uid": ["a", "b", "c"]}
    meta = {"k": 1}

    data = DataProto.from_dict(tensors, columns, meta)
    assert data.batch is not None
    data.batch["more"] = torch.ones(3)
    data.non_tensor_batch["more"] = column("xyz")
    data.meta_info["more"] = 2

    assert list(tensors) == ["ids"]
    assert columns == {"uid": ["a", "b", "c"]}
    assert meta == {"k": 1}


def test_from_dict_without_anything_is_a_batch_without_rows() -> None:
    data = DataProto.from_dict()

    assert (data.batch, data.non_tensor_batch, data.meta_info, len(data)) == (None, {}, {}, 0)


def test_from_dict_takes_every_layout() -> None:
    data = DataProto.from_dict(
        {
            "flat": jagged([1, 2], [], [3]),
            "positions": jagged_on_2([[1], [2]], [[3, 4], [5, 6]], [[7], [8]]),
            "inner": TensorDict({"x": torch.ones(3, 2)}, batch_size=[3]),
        }
    )

    assert len(data) == 3


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_from_dict_takes_strided_nested_tensors() -> None:
    data = DataProto.from_dict({"x": torch.nested.nested_tensor([torch.arange(2), torch.arange(3)])})

    assert len(data) == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"tensors": {"ids": torch.arange(3), "uid": np.arange(3)}},
            "BP045 store  uid  int64[3]; tensors holds tensors alone; torch.as_tensor(x) makes one, a column goes into "
            "non_tensors",
        ),
        (
            {"tensors": {"score": [0.5, 1.0]}},
            "BP045 store  score  list of 2; tensors holds tensors alone; torch.as_tensor(x) makes one, a column goes "
            "into non_tensors",
        ),
        ({"tensors": {"loss": torch.tensor(1.0)}}, "BP045 store  loss  f32[]; a batch axis"),
        (
            {"tensors": {"a": torch.ones(3, 2), "b": torch.ones(4), "c": torch.ones(3)}},
            "BP016 rows  batch  3 rows in a and c, 4 rows in b; all tensors share their batch axis",
        ),
        (
            {"tensors": {"a": torch.ones(3)}, "num_batch_dims": 0},
            "BP045 store  num_batch_dims  0; 1: a batch has one batch axis",
        ),
        (
            {"tensors": {"a": torch.ones(3, 2)}, "num_batch_dims": 2},
            "BP045 store  num_batch_dims  2; 1: a batch has one batch axis",
        ),
    ],
)
def test_from_dict_refuses_what_is_no_batch(arguments: dict[str, Any], line: str) -> None:
    with refuses("from_dict", line):
        DataProto.from_dict(**arguments)


# --- the constructor --------------------------------------------------------------------------------------------------


def test_the_constructor_takes_the_stores_as_they_are() -> None:
    batch = TensorDict({"ids": torch.arange(2)}, batch_size=[2])
    columns, meta = {"uid": column(["a", "b"])}, {"k": 1}

    data = DataProto(batch, columns, meta)

    assert data.batch is batch
    assert data.non_tensor_batch is columns
    assert data.meta_info is meta


@pytest.mark.parametrize(
    ("stores", "lines"),
    [
        (
            {"batch": TensorDict({}, batch_size=[])},
            ["BP045 store  batch  a TensorDict without a batch axis; batch_size has the rows first"],
        ),
        (
            {"non_tensor_batch": {"uid": ["a", "b"], "x": np.array(3)}},
            [
                "BP045 store  uid  list of 2; a column is a numpy array with one value per row; "
                "batchpact.dataproto.column(values) makes one",
                "BP045 store  x    int64[]; a column is a numpy array with one value per row; "
                "batchpact.dataproto.column(values) makes one",
            ],
        ),
        (
            {
                "batch": TensorDict({"ids": torch.arange(2)}, batch_size=[2]),
                "non_tensor_batch": {"uid": column("abc"), "x": np.ones(1), "y": np.zeros(3)},
            },
            [
                "BP016 rows  batch  2 rows in the tensors, 3 rows in uid and y, 1 row in x; one number of rows in both "
                "stores"
            ],
        ),
        (
            {"non_tensor_batch": {"uid": column("abc"), "x": np.ones(1)}},
            ["BP016 rows  batch  3 rows in uid, 1 row in x; one number of rows in both stores"],
        ),
        (
            {
                "batch": TensorDict({"a": torch.ones(2), "b": torch.ones(2)}, batch_size=[2]),
                "non_tensor_batch": {"a": np.ones(2), "c": np.ones(2)},
                "meta_info": {"b": 1, "c": 2, "a": 3},
            },
            [
                "BP045 store  a  in batch and in non_tensor_batch and in meta_info; one place for one name",
                "BP045 store  b  in batch and in meta_info; one place for one name",
                "BP045 store  c  in non_tensor_batch and in meta_info; one place for one name",
            ],
        ),
    ],
    ids=["no batch axis", "no arrays", "rows differ", "rows of columns differ", "a name in two stores"],
)
def test_the_constructor_names_everything_that_is_wrong(stores: dict[str, Any], lines: list[str]) -> None:
    with refuses("check_consistency", *lines):
        DataProto(**stores)


def test_a_column_may_be_of_a_subclass_of_array() -> None:
    data = DataProto(non_tensor_batch={"x": np.arange(3).view(np.recarray)})

    assert len(data) == 3


def test_a_tensor_store_without_tensors_does_not_count_rows_beside_columns() -> None:
    data = DataProto(TensorDict({}, batch_size=[5]), {"uid": column("abc")})

    assert len(data) == 3
    assert list(data[-1].non_tensor_batch["uid"]) == ["c"]


# --- direct writes ----------------------------------------------------------------------------------------------------


class Anything(BatchSchema):
    """Declares nothing."""


OPERATIONS = {
    "select": lambda data: data.select(),
    "pop": lambda data: data.pop(["ids"]),
    "rename": lambda data: data.rename("ids", "input_ids"),
    "index": lambda data: data[0],
    "slice": lambda data: data[1:],
    "select_idxs": lambda data: data.select_idxs([0]),
    "slice()": lambda data: data.slice(0, 2),
    "repeat": lambda data: data.repeat(2),
    "reorder": lambda data: data.reorder([3, 2, 1, 0]),
    "chunk": lambda data: data.chunk(2),
    "split": lambda data: data.split(2),
    "union": lambda data: data.union(DataProto()),
    "union with it": lambda data: DataProto().union(data),
    "concat": lambda data: DataProto.concat([small(), data]),
    "bind": lambda data: data.bind(Anything),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_a_direct_write_is_checked_at_the_next_operation(operation: Any) -> None:
    data = small()
    data.non_tensor_batch["late"] = column(["only", "three", "rows"])
    data.meta_info["ids"] = 5

    with refuses(
        "check_consistency",
        "BP016 rows   batch  4 rows in the tensors, uid and score, 3 rows in late; one number of rows in both stores",
        "BP045 store  ids    in batch and in meta_info; one place for one name",
    ):
        operation(data)
