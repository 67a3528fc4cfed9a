"""Copies of batches: shallow ones share the tensors, deep ones share no values."""

from __future__ import annotations

import copy

import numpy as np
import torch

from batchpact.dataproto import DataProto, column
from batchpact.dataproto.row_marks import RowMarks
from tests.dataproto.support import jagged, plain


class Tagged(DataProto):
    """A team's own kind of batch."""

    tag = ""


def test_a_copy_has_mappings_of_its_own_and_carries_the_same() -> None:
    data = Tagged.from_dict({"x": torch.ones(2)}, {"u": ["a", "b"]}, {"k": [1]})
    data.tag, data._writers, data._marks = "mine", {"x": "rollout"}, RowMarks(pads=np.array([False, True]))

    made = copy.copy(data)
    made.batch["late"] = torch.ones(2)
    made.non_tensor_batch["late"] = column("ab")
    made.meta_info["late"] = 1

    assert list(data.batch.keys()) == ["x"]
    assert [*data.non_tensor_batch, *data.meta_info] == ["u", "k"]
    assert made.batch["x"] is data.batch["x"]
    assert made.meta_info["k"] is data.meta_info["k"]
    assert (type(made), made.tag, made.last_writer("x")) == (Tagged, "mine", "rollout")
    assert made._marks.pads.tolist() == [False, True]


def test_a_deep_copy_shares_no_values() -> None:
    data = Tagged.from_dict({"x": torch.ones(2), "tokens": jagged([1, 2], [3])}, {"u": [["a"], ["b"]]}, {"k": [1]})
    data.tag, data._writers = "mine", {"x": "rollout"}
    before = plain(data)

    made = copy.deepcopy(data)
    made.batch["x"].zero_()
    made.batch["tokens"].values().zero_()
    made.non_tensor_batch["u"][0].append("late")
    made.meta_info["k"].append(2)

    assert plain(data) == before
    assert (type(made), made.tag, made.last_writer("x")) == (Tagged, "mine", "rollout")


def test_a_deep_copy_of_a_part_takes_no_more_than_the_part() -> None:
    part = DataProto.from_dict({"x": torch.ones(1000, 4)}).chunk(100)[3]

    assert copy.deepcopy(part).batch["x"].untyped_storage().nbytes() == 160


def test_tensors_that_are_one_are_one_in_a_deep_copy() -> None:
    x = torch.ones(2)
    data = DataProto.from_dict({"x": x, "y": x}, meta_info={"x of meta": x})

    made, other = copy.deepcopy([data, data.select(["x"])])

    assert made.batch["x"] is made.batch["y"] is made.meta_info["x of meta"] is other.batch["x"]


def test_a_batch_that_holds_itself_can_be_deep_copied() -> None:
    data = DataProto(meta_info={})
    data.meta_info["me"] = data

    made = copy.deepcopy(data)

    assert made.meta_info["me"] is made


def test_a_deep_copy_wants_gradients_where_the_batch_does_and_has_no_graph() -> None:
    leaf = torch.ones(3, requires_grad=True)

    made = copy.deepcopy(DataProto.from_dict({"leaf": leaf, "result": leaf * 2, "plain": torch.ones(3)}))

    assert {key: (value.requires_grad, value.is_leaf) for key, value in made.batch.items()} == {
        "leaf": (True, True),
        "result": (True, True),
        "plain": (False, True),
    }
