"""What every batch does: it knows its rows, compares, remembers, pickles."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import jagged, jagged_on_2, plain, small

# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (DataProto(), 0),
        (DataProto(meta_info={"k": [1, 2, 3]}), 0),
        (DataProto.from_dict({"x": torch.ones(0, 3)}), 0),
        (DataProto.from_dict({"x": torch.ones(3)}), 3),
        (DataProto.from_dict(non_tensors={"x": ["a", "b"]}), 2),
        (DataProto(TensorDict({}, batch_size=[3])), 3),
        (DataProto(TensorDict({}, batch_size=[3]), {"x": column("ab")}), 2),
    ],
)
def test_the_length_is_the_number_of_rows(data: DataProto, rows: int) -> None:
    assert len(data) == rows


# --- equality ---------------------------------------------------------------------------------------------------------


def test_batches_are_equal_by_content() -> None:
    assert small() == small()
    assert DataProto() == DataProto(None, {}, {})


def test_a_batch_that_remembers_another_way_is_equal() -> None:
    other = small()
    other._writers, other._marks = {"ids": "rollout"}, RowMarks(np.arange(4))

    assert other == small()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.batch.set("ids", d.batch["ids"] + 1),
        lambda d: d.batch.set("late", torch.ones(4)),
        lambda d: d.batch.set("reward", d.batch["reward"].double()),
        lambda d: d.batch.pop("ids"),
        lambda d: d.non_tensor_batch.update(uid=column("abcz")),
        lambda d: d.non_tensor_batch.update(score=d.non_tensor_batch["score"].astype(np.float64)),
        lambda d: d.non_tensor_batch.pop("uid"),
        lambda d: d.meta_info.update(temperature=0.71),
        lambda d: d.meta_info.update(late=None),
    ],
)
def test_batches_differ_by_any_field(change: Any) -> None:
    other = small()
    change(other)

    assert other != small()


def test_the_number_of_rows_counts_without_a_field() -> None:
    assert DataProto(TensorDict({}, batch_size=[3])) != DataProto(TensorDict({}, batch_size=[4]))


def test_a_batch_is_not_equal_to_anything_else() -> None:
    assert small() != {"ids": 1}
    assert small() != "text"


def test_a_batch_is_not_hashable() -> None:
    with pytest.raises(TypeError, match=r"^unhashable type: 'DataProto'$"):
        hash(small())


# --- history ----------------------------------------------------------------------------------------------------------


def test_the_last_writer_of_a_field_is_known() -> None:
    data = small()
    assert data.last_writer("ids") is None
    assert data.history() == {}

    data._reads = {"score": ("ids", "reward"), "whiten": ("reward",)}
    data._writers = {"ids": "rollout"}

    assert data.last_writer("ids") == "rollout"
    assert data.history() == {"ids": "written by 'rollout'", "reward": "last read by 'whiten'"}


def test_an_attribute_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^'DataProto' object has no attribute 'batsh'$"):
        small().batsh  # noqa: B018


# --- pickling ---------------------------------------------------------------------------------------------------------


def travelled(data: DataProto, protocol: int = 5) -> DataProto:
    received: DataProto = pickle.loads(pickle.dumps(data, protocol=protocol))
    return received


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_batch_of_every_kind_survives(protocol: int) -> None:
    data = DataProto.from_dict(
        {
            "bf16": torch.arange(6).to(torch.bfloat16).reshape(2, 3),
            "bool": torch.tensor([True, False]),
            "scalar_rows": torch.tensor([1.5, float("nan")]),
            "flat": jagged([1, 2], [3]),
            "positions": jagged_on_2([[1, 2], [3, 4]], [[5], [6]]),
        },
        {"cells": [[], [0.5]], "image": [np.arange(3), None], "num": np.array([1, 2], dtype=np.int16)},
        {"list": [1, 2], "nested": {"a": torch.arange(2)}, "none": None},
    )

    received = travelled(data, protocol)

    assert plain(received) == plain(data)
    assert received.batch is not None
    assert received.batch["positions"]._ragged_idx == 2


@pytest.mark.parametrize(
    "data",
    [
        DataProto(),
        small()[:0],
        small().select([]),
        small().select(None, [], []),
        DataProto(TensorDict({}, batch_size=[3])),
    ],
)
def test_zero_rows_and_zero_fields_survive(data: DataProto) -> None:
    """Case S6: zero rows and zero fields are legal."""
    assert travelled(data) == data
    assert len(travelled(data)) == len(data)


def test_pickling_changes_nothing_and_the_sender_can_be_written_on() -> None:
    """Case W1: pickling is pure."""
    data = small()
    assert data.batch is not None
    tensors, batch, ids = dict(data.batch.items()), data.batch, data.batch["ids"]

    received = travelled(data)
    data.batch["ids"].add_(1)
    data.batch["late"] = torch.ones(4)

    assert data.batch is batch
    assert not batch.is_locked
    assert not batch.is_consolidated()
    assert all(batch[key] is tensors[key] for key in tensors)
    assert ids[0].tolist() == [1, 2]
    assert plain(received) == plain(small())


def test_a_received_batch_can_be_written_on() -> None:
    received = travelled(small())
    assert received.batch is not None

    received.batch["ids"].add_(1)
    received.batch["late"] = torch.ones(4)
    received.non_tensor_batch["score"][0] = 9.0

    assert received.batch["ids"][0].tolist() == [1, 2]
    assert received.non_tensor_batch["score"][0] == 9.0


def test_what_a_batch_remembers_travels() -> None:
    data = small()
    data._writers, data._reads = {"ids": "rollout"}, {"score": ("reward",)}
    data._marks = RowMarks(np.arange(4), np.array([False, False, False, True]))
    data._rewrites = frozenset({"ids"})

    received = travelled(data)

    assert received.history() == {"ids": "written by 'rollout'", "reward": "last read by 'score'"}
    assert received._marks.origin.tolist() == [0, 1, 2, 3]
    assert received._marks.pads.tolist() == [False, False, False, True]
    assert received._rewrites == {"ids"}


def test_the_device_and_the_batch_axes_travel() -> None:
    data = DataProto(TensorDict({"x": torch.ones(2, 3, 4)}, batch_size=[2, 3], device="cpu"))

    received = travelled(data)

    assert received.batch is not None
    assert received.batch.batch_size == (2, 3)
    assert received.batch.device == torch.device("cpu")


def test_a_batch_can_be_copied() -> None:
    data = small()
    assert data.batch is not None

    shallow, deep = copy.copy(data), copy.deepcopy(data)
    assert shallow.batch is not None
    assert deep.batch is not None

    assert plain(shallow) == plain(deep) == plain(data)
    assert shallow.batch["ids"] is data.batch["ids"]
    assert deep.batch["ids"].data_ptr() != data.batch["ids"].data_ptr()
    shallow.meta_info["late"] = 1
    assert "late" not in data.meta_info


def test_the_state_of_a_batch_makes_an_equal_one_with_memory_of_its_own() -> None:
    """As with verl's: `state = data.__getstate__()`, `DataProto().__setstate__(state)`."""
    data, made = small(), DataProto()
    data._writers = {"ids": "rollout"}

    made.__setstate__(data.__getstate__())
    assert made.batch is not None and data.batch is not None
    data.batch["ids"].zero_()

    assert plain(made) == plain(small())
    assert made.last_writer("ids") == "rollout"
