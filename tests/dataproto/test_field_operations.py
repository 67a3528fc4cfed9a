"""Selecting, popping, renaming and moving: one strictness in all three stores, and nothing half done."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.dataproto.row_marks import RowMarks
from batchpact.schemas import MissingFieldError
from tests.dataproto.support import jagged, plain, refuses, small


def fields(data: DataProto) -> list[list[str]]:
    return [list(store) for store in data.stores()[:3]]


# --- select -----------------------------------------------------------------------------------------------------------


def test_select_takes_all_of_a_store_where_no_keys_are_given() -> None:
    assert fields(small().select()) == [["ids", "reward"], ["uid", "score"], ["temperature", "stop"]]
    assert fields(small().select(["reward"])) == [["reward"], ["uid", "score"], ["temperature", "stop"]]
    assert fields(small().select(["reward"], [], ["stop"])) == [["reward"], [], ["stop"]]


def test_select_without_fields_keeps_the_rows_that_join_any() -> None:
    nothing = small().select([], [], [])

    assert fields(nothing) == [[], [], []]
    assert nothing.union(small()[:2]) == small()[:2]


def test_select_shares_the_values_and_deepcopy_copies_columns_and_meta() -> None:
    data = small()
    data.non_tensor_batch["cells"] = column([[1], [2], [3], [4]])
    assert data.batch is not None

    shared, copied = data.select(), data.select(deepcopy=True)
    assert shared.batch is not None
    assert copied.batch is not None

    assert shared.batch["ids"] is data.batch["ids"]
    assert shared.meta_info["stop"] is data.meta_info["stop"]
    assert shared.non_tensor_batch["cells"] is data.non_tensor_batch["cells"]
    assert copied == shared
    assert copied.batch["ids"] is data.batch["ids"]
    assert copied.meta_info["stop"] is not data.meta_info["stop"]
    assert copied.non_tensor_batch["cells"][0] is not data.non_tensor_batch["cells"][0]


def test_one_key_may_be_given_as_text() -> None:
    assert fields(small().select("ids", "uid", "stop")) == [["ids"], ["uid"], ["stop"]]  # type: ignore[arg-type]
    assert fields(small().pop("ids", "uid", "stop")) == [["ids"], ["uid"], ["stop"]]  # type: ignore[arg-type]


MISSPELT = (["ids", "rewards"], ["uids", "temperature"], ["temprature", "zzz"])
MISSING = (
    "BP046 name  rewards      not in batch; closest name: 'reward'",
    "BP046 name  uids         not in non_tensor_batch; closest name: 'uid'",
    "BP046 name  temperature  not in non_tensor_batch; the batch has float in meta_info",
    "BP046 name  temprature   not in meta_info; closest name: 'temperature'",
    "BP046 name  zzz          not in meta_info",
)


@pytest.mark.parametrize("operation", ["select", "pop"])
def test_every_missing_name_is_named_with_the_closest_one_and_nothing_is_changed(operation: str) -> None:
    """Cases M11 and A3: one strictness in all three stores, and nothing half done."""
    data = small()
    before = plain(data)

    with refuses(operation, *MISSING, kind=MissingFieldError):
        getattr(data, operation)(*MISSPELT)

    assert plain(data) == before


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((["uid"], [], []), "BP046 name  uid  not in batch; the batch has 4 objects in non_tensor_batch"),
        (([], ["ids"], []), "BP046 name  ids  not in non_tensor_batch; the batch has tensor i64[4, 2]"),
        (([], [], ["score"]), "BP046 name  score  not in meta_info; the batch has float32[4] in non_tensor_batch"),
        (([], ["stp"], []), "BP046 name  stp  not in non_tensor_batch; closest name: 'stop'"),
    ],
)
def test_a_name_in_another_store_is_shown_where_it_is(keys: tuple[list[str], list[str], list[str]], line: str) -> None:
    with refuses("select", line, kind=MissingFieldError):
        small().select(*keys)


def test_a_missing_name_is_a_key_error_too() -> None:
    with pytest.raises(KeyError):
        small().select(["typo"])


def test_names_are_missing_in_a_batch_without_tensors() -> None:
    with refuses("pop", "BP046 name  ids  not in batch", kind=MissingFieldError):
        DataProto().pop(["ids"])


# --- pop --------------------------------------------------------------------------------------------------------------


def test_pop_moves_fields_out() -> None:
    data = small()

    popped = data.pop(["ids"], ["score"], ["stop"])

    assert fields(popped) == [["ids"], ["score"], ["stop"]]
    assert fields(data) == [["reward"], ["uid"], ["temperature"]]
    assert popped.union(data) == small()


def test_pop_takes_nothing_out_where_no_keys_are_given() -> None:
    data = small()

    assert fields(data.pop()) == [[], [], []]
    assert data == small()


def test_pop_takes_everything_out() -> None:
    data = small()

    popped = data.pop(["ids", "reward"], ["uid", "score"], ["temperature", "stop"])

    assert popped == small()
    assert fields(data) == [[], [], []]
    assert data.union(popped) == small()


# --- rename -----------------------------------------------------------------------------------------------------------


def test_rename_works_in_place_and_returns_the_batch() -> None:
    data = small()
    assert data.batch is not None
    ids = data.batch["ids"]

    assert data.rename("ids", "input_ids") is data

    assert set(data.batch.keys()) == {"input_ids", "reward"}
    assert data.batch["input_ids"] is ids


def test_rename_can_swap() -> None:
    data = DataProto.from_dict({"a": torch.zeros(2), "b": torch.ones(2)})

    data.rename(["a", "b"], ["b", "a"])

    assert data == DataProto.from_dict({"a": torch.ones(2), "b": torch.zeros(2)})


def test_rename_of_nothing_is_nothing() -> None:
    assert DataProto().rename([], []) == DataProto()


def test_rename_takes_the_writer_along() -> None:
    data = small()
    data._writers = {"ids": "rollout", "reward": "score"}

    data.rename(["ids"], ["input_ids"])

    assert data.history() == {"input_ids": "written by 'rollout'", "reward": "written by 'score'"}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (["ids", "reward"], ["a"], "BP046 name  new_keys  2 old keys, 1 new key; one new name for each old one"),
        (["ids", "reward"], ["a", "a"], "BP046 name  new_keys  2 old keys, 1 new key; one new name for each old one"),
        (["ids", "ids"], ["a", "b"], "BP046 name  new_keys  1 old key, 2 new keys; one new name for each old one"),
        ("ids", "reward", "BP045 store  reward  the name is taken; one place for one name"),
        ("ids", "uid", "BP045 store  uid  the name is taken; one place for one name"),
        (["reward", "ids"], ["r", "stop"], "BP045 store  stop  the name is taken; one place for one name"),
    ],
)
def test_a_rename_that_does_not_work_out_changes_nothing(old: str | list[str], new: str | list[str], line: str) -> None:
    data = small()

    with refuses("rename", line):
        data.rename(old, new)

    assert plain(data) == plain(small())


def test_rename_names_every_key_that_is_no_tensor() -> None:
    with refuses(
        "rename",
        "BP046 name  uid   not in batch; the batch has 4 objects in non_tensor_batch",
        "BP046 name  idss  not in batch; closest name: 'ids'",
        kind=MissingFieldError,
    ):
        small().rename(["ids", "uid", "idss"], ["a", "b", "c"])


# --- to ---------------------------------------------------------------------------------------------------------------


def test_to_moves_every_tensor_in_place_and_leaves_the_rest() -> None:
    data = small()
    assert data.batch is not None
    data.batch["flat"] = jagged([1], [], [2], [3])
    columns, tensors = dict(data.non_tensor_batch), data.batch

    assert data.to("meta") is data

    assert {value.device.type for value in data.batch.values()} == {"meta"}
    assert data.batch["flat"].layout is torch.jagged
    assert all(data.non_tensor_batch[key] is columns[key] for key in columns)
    assert tensors["ids"].device.type == "cpu"


def test_to_without_tensors_has_nothing_to_move() -> None:
    data = DataProto(non_tensor_batch={"uid": column("ab")})

    assert data.to("meta") is data
    assert data.batch is None


def test_the_device_of_the_tensors_stays_in_what_is_derived() -> None:
    data = DataProto(TensorDict({"x": torch.ones(2)}, batch_size=[2], device="cpu"), {"n": np.ones(2)})

    for derived in (data[:1], data.select(), data.pop(["x"]), DataProto.concat([data[:1], data[1:]])):
        assert derived.batch is None or derived.batch.device == torch.device("cpu")


# --- presence ---------------------------------------------------------------------------------------------------------


def test_every_row_has_a_field_that_nothing_filled() -> None:
    data = small()

    assert data.presence("ids").tolist() == data.presence("uid").tolist() == [True] * 4
    assert data[:0].presence("ids").tolist() == []
    assert data.presence("ids").dtype == np.bool_


def test_presence_is_an_array_of_its_own() -> None:
    data = small()
    data._marks = RowMarks(absent={"ids": np.array([True, False, False, False])})

    data.presence("ids")[:] = True

    assert data.presence("ids").tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("idss", "BP046 name  idss  not in batch; closest name: 'ids'"),
        ("stop", "BP046 name  stop  not in batch; the batch has list of 4 in meta_info"),
    ],
)
def test_presence_is_of_a_field_with_rows(key: str, line: str) -> None:
    with refuses("presence", line, kind=MissingFieldError):
        small().presence(key)


def test_a_batch_that_loses_its_rows_with_its_fields_loses_their_marks() -> None:
    padded, _ = pad_dataproto_to_divisor(DataProto.from_dict(non_tensors={"uid": ["a", "b"]}), 3)

    bare, nothing = padded.select(non_tensor_batch_keys=[]), padded.pop()
    padded.pop(non_tensor_batch_keys=["uid"])

    for data in (bare, nothing, padded):
        assert len(data) == 0
        assert data.pad_mask.tolist() == []


def test_select_and_pop_take_the_marks_of_their_fields_along() -> None:
    data = small()
    mask = np.array([True, False, False, False])
    data._marks = RowMarks(absent={"ids": mask, "uid": ~mask})

    assert data.select(["ids"], [])._marks.absent.keys() == {"ids"}
    popped = data.pop(["ids"])
    assert popped._marks.absent.keys() == {"ids"}
    assert data._marks.absent.keys() == {"uid"}
