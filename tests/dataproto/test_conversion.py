"""To a TensorDict and to verl's own structure, and back: every field, nothing copied, nothing shared but storage."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import DataProto, column
from tests.dataproto.carriers.kinds import LooksLikeVerl
from tests.dataproto.support import batches, jagged, law, plain, refuses, small

# --- TensorDict -------------------------------------------------------------------------------------------------------


@given(batches())
@law
def test_every_batch_comes_back_from_a_tensordict(data: DataProto) -> None:
    before = plain(data)

    converted = data.to_tensordict()
    back = DataProto.from_tensordict(converted)

    assert plain(back) == before == plain(data)
    assert back == data
    assert converted.batch_size == (len(data),)


def test_each_store_has_its_entry() -> None:
    converted = small().to_tensordict()

    kinds = {key: type(value) for key, value in converted.items()}
    assert kinds == {
        "ids": torch.Tensor,
        "reward": torch.Tensor,
        "uid": NonTensorStack,
        "score": NonTensorStack,
        "temperature": NonTensorData,
        "stop": NonTensorData,
    }
    assert converted["stop"] == ["x", "y", "z", "w"]
    assert converted[1]["uid"] == "b"


def test_tensors_are_shared_and_mappings_are_not() -> None:
    data = small()
    assert data.batch is not None

    converted = data.to_tensordict()
    back = DataProto.from_tensordict(converted)

    assert back.batch is not None
    assert converted["ids"].data_ptr() == back.batch["ids"].data_ptr() == data.batch["ids"].data_ptr()
    converted["late"] = torch.ones(4)
    back.batch["later"] = torch.ones(4)
    back.meta_info["latest"] = 1
    assert set(data.batch.keys()) == {"ids", "reward"}
    assert "latest" not in data.meta_info
    assert "later" not in converted.keys()


@dataclasses.dataclass
class Call:
    name: str


CELLS: list[Any] = [
    None,
    [],
    [[]],
    {},
    {"a": [1, {"b": None}]},
    (1, (2,)),
    "text",
    b"bytes",
    True,
    3,
    0.5,
    np.float32(1.5),
    np.arange(3),
    np.array("zero axes"),
    torch.ones(2),
    torch.tensor(3),
    TensorDict({"a": torch.ones(2)}, batch_size=[2]),
    Call("search"),
    pathlib.PurePosixPath("/x"),
    int,
    len,
    {1, 2},
    range(3),
    jagged([1], [2, 3]),
]


def test_cells_and_meta_of_any_kind_are_the_same_objects_after_the_trip() -> None:
    meta = {f"m{at}": cell for at, cell in enumerate(CELLS)}
    data = DataProto.from_dict({"x": torch.arange(len(CELLS))}, {"c": CELLS}, meta)

    back = DataProto.from_tensordict(data.to_tensordict())

    assert all(made is cell for made, cell in zip(back.non_tensor_batch["c"], CELLS, strict=True))
    assert all(back.meta_info[key] is value for key, value in meta.items())


def test_what_verl_writes_is_read() -> None:
    batch = TensorDict({"ids": torch.arange(2)}, batch_size=[2])
    batch["uid"] = NonTensorStack("a", "b")
    batch["step"] = NonTensorData(data=3)
    batch.set_non_tensor("name", "grpo")

    data = DataProto.from_tensordict(batch, meta_info={"more": 1})

    assert data.non_tensor_batch["uid"].tolist() == ["a", "b"]
    assert data.meta_info == {"more": 1, "step": 3, "name": "grpo"}


def test_of_several_batch_axes_the_first_one_is_the_rows() -> None:
    data = DataProto(TensorDict({"x": torch.ones(2, 3, 4)}, batch_size=[2, 3]), meta_info={"k": 1})

    converted = data.to_tensordict()
    back = DataProto.from_tensordict(converted)

    assert converted.batch_size == (2, 3)
    assert back.batch is not None
    assert back.batch.batch_size == (2,)
    assert back.meta_info == {"k": 1}


def test_a_device_goes_along() -> None:
    data = small().to("cpu")

    converted = data.to_tensordict()
    back = DataProto.from_tensordict(converted)

    assert converted.device == torch.device("cpu")
    assert back.batch is not None
    assert back.batch.device == torch.device("cpu")
    assert plain(back) == plain(small())


def test_a_tensordict_without_fields_keeps_its_rows() -> None:
    assert len(DataProto.from_tensordict(TensorDict({}, batch_size=[4]))) == 4
    assert len(DataProto.from_tensordict(TensorDict({}))) == 0


def test_the_given_meta_is_left_alone() -> None:
    meta = {"k": 1}

    data = DataProto.from_tensordict(TensorDict({"step": NonTensorData(data=3)}), meta)
    data.meta_info["late"] = 1

    assert meta == {"k": 1}


def test_names_are_strings() -> None:
    with refuses("to_tensordict", "BP045 store  3  int 3; a TensorDict has strings as names"):
        DataProto.from_dict({"x": torch.ones(2)}, meta_info={3: 1}).to_tensordict()  # type: ignore[dict-item]


def test_meta_with_two_values_is_refused() -> None:
    batch = TensorDict({"x": torch.arange(2), "k": NonTensorData(data=2, batch_size=[2])}, batch_size=[2])

    assert DataProto.from_tensordict(batch, {"k": 2}).meta_info == {"k": 2}
    with refuses(
        "from_tensordict",
        "BP041 conflict  k  meta_info and the TensorDict differ: 1 against 2; one value for the batch",
    ):
        DataProto.from_tensordict(batch, {"k": 1})


def test_what_is_no_tensordict_is_refused() -> None:
    with refuses(
        "from_tensordict", "BP045 store  tensor_dict  dict of 1; a TensorDict; from_dict makes a batch of dicts"
    ):
        DataProto.from_tensordict({"x": torch.ones(2)})  # type: ignore[arg-type]


def test_a_batch_has_one_batch_axis() -> None:
    batch = TensorDict({"x": torch.ones(2, 2), "c": NonTensorStack("a", "b")}, batch_size=[2])

    with refuses("from_tensordict", "BP045 store  num_batch_dims  2; 1: a batch has one batch axis"):
        DataProto.from_tensordict(batch, num_batch_dims=2)


# --- verl's structure -------------------------------------------------------------------------------------------------


@given(batches(), st.booleans())
@law
def test_a_batch_is_made_of_verls_stores(data: DataProto, locked: bool) -> None:
    theirs = LooksLikeVerl(data.batch, data.non_tensor_batch, data.meta_info)
    if locked and theirs.batch is not None:
        theirs.batch.lock_()

    made = DataProto.from_verl(theirs)

    assert plain(made) == plain(data)
    made.meta_info["late"] = 1
    made.non_tensor_batch["late"] = column(range(len(made)))
    if made.batch is not None:
        made.batch["later"] = torch.arange(len(made))
    assert "late" not in data.meta_info
    assert "late" not in data.non_tensor_batch
    assert data.batch is None or "later" not in data.batch.keys()


def test_stores_that_are_none_are_empty() -> None:
    assert DataProto.from_verl(LooksLikeVerl(None, None, None)) == DataProto()  # type: ignore[arg-type]


def test_what_has_no_such_stores_is_refused() -> None:
    with refuses(
        "from_verl", "BP045 store  data  dict of 1; verl's DataProto, with batch, non_tensor_batch and meta_info"
    ):
        DataProto.from_verl({"batch": None})
