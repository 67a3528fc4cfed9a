"""Equality for tests: an assertion that says where two `TensorDict`s differ."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from batchpact.dataproto import tensordicts as tu
from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import jagged, jagged_on_2
from tests.dataproto.tensordicts.support import refuses, small, tensors, with_meta

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def differ(left: TensorDict, right: TensorDict, where: str) -> None:
    """Both orders are told apart, and the first difference is named."""
    with pytest.raises(AssertionError) as caught:
        tu.assert_tensordict_eq(left, right)
    assert str(caught.value) == f"the TensorDicts differ: {where}"
    with pytest.raises(AssertionError):
        tu.assert_tensordict_eq(right, left)


def test_equal_fields_are_equal_whatever_their_order() -> None:
    left = small()

    tu.assert_tensordict_eq(left, left)
    tu.assert_tensordict_eq(left, small())
    tu.assert_tensordict_eq(left, small().select(*reversed(list(left.keys()))))
    tu.assert_tensordict_eq(with_meta(a=1, b=[2]), with_meta(b=[2], a=1))
    tu.assert_tensordict_eq(TensorDict({}, batch_size=[2]), TensorDict({}, batch_size=[2]))


def test_nan_is_nan_and_arrays_are_compared_by_their_elements() -> None:
    def side() -> TensorDict:
        cells = [float("nan"), np.arange(2), {"a": np.array([1.5, np.nan])}]
        return tu.get_tensordict({"x": torch.tensor([float("nan"), 1, 2]), "c": cells}, {"m": np.arange(3)})

    tu.assert_tensordict_eq(side(), side())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nested_tensors_of_every_layout_are_compared_by_their_rows(layout: str) -> None:
    made = LAYOUTS[layout]
    whole = tensors(4, x=made.nested([2, 0, 3, 1]))

    tu.assert_tensordict_eq(whole, tensors(4, x=made.nested([2, 0, 3, 1])))
    with pytest.raises(AssertionError, match=r"the TensorDicts differ: \['x'\]: .*differ"):
        tu.assert_tensordict_eq(whole, tensors(4, x=made.nested([2, 0, 3, 1], factor=2)))
    with pytest.raises(AssertionError, match=r"the TensorDicts differ: \['x'\]: "):
        tu.assert_tensordict_eq(whole, tensors(4, x=made.nested([2, 1, 2, 1])))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda td: td["ids"].__setitem__((2, 1), 9), "['ids']: 1 element differs by up to 4, first in row 2"),
        (
            lambda td: td["deep"].values().__setitem__((0, 3), 9),
            "['deep']: 1 element differs by up to 2, first in row 3",
        ),
        (lambda td: td["turns"][2][0].__setitem__("k", 2), "['turns'][2][0]['k']: 1 against 2"),
        (lambda td: td["four"].append(5), "['four']: list of 4 against list of 5"),
        (lambda td: tu.assign_non_tensor(td, step=True), "['step']: int 3 against bool True"),
        (lambda td: td.set("ids", td["ids"].int()), "['ids']: i64[4, 2] against i32[4, 2]"),
        (lambda td: td.set("ids", td["ids"][:, :1]), "['ids']: i64[4, 2] against i64[4, 1]"),
        (lambda td: td.set("flat", jagged([1], [], [2], [3, 4])), "['flat']: other row lengths"),
        (lambda td: td.set("flat", torch.ones(4)), "['flat']: i64[4, jagged] against f32[4]"),
        (
            lambda td: td.set("four", NonTensorStack(1, 2, 3, 4)),
            "['four']: list of 4 in meta_info against 4 objects in non_tensor_batch",
        ),
        (lambda td: td.pop("uid"), "'uid' is in the first alone"),
        (lambda td: tu.assign_non_tensor(td, late=1), "'late' is in the second alone"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_path_of_the_first_difference_is_named(change: Any, where: str) -> None:
    left, right = small(), copy.deepcopy(small())

    change(right)

    differ(left, right, where)


def test_a_shape_that_would_broadcast_is_another_shape() -> None:
    differ(tensors(2, x=torch.ones(2, 1)), tensors(2, x=torch.ones(2, 2)), "['x']: f32[2, 1] against f32[2, 2]")


def test_ragged_on_another_axis_is_different() -> None:
    deep = jagged_on_2([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    other = torch.nested.nested_tensor_from_jagged(torch.arange(1, 9).reshape(4, 2), torch.tensor([0, 2, 4]))

    differ(tensors(2, x=deep), tensors(2, x=other), "['x']: ragged on axis 2 against axis 1")


def test_the_batch_size_is_a_part_of_it() -> None:
    fields: dict[str, Any] = {"x": torch.ones(2, 3), "k": NonTensorData(data=1)}

    differ(TensorDict(fields, batch_size=[2]), TensorDict(fields, batch_size=[]), "batch size [2] against []")


def test_a_column_whose_kind_one_side_has_forgotten_is_equal_by_its_cells() -> None:
    batch = tu.get_tensordict({"score": np.array([0.5, 1.5], dtype=np.float32)})

    tu.assert_tensordict_eq(batch, batch.to("cpu"))
    differ(batch, tu.get_tensordict({"score": [0.5, 1.5]}), "['score'][0]: float32 against float 0.5")


def test_anything_else_is_refused() -> None:
    with refuses(
        "assert_tensordict_eq",
        "BP045 store  batch  dict of 0; a TensorDict; get_tensordict(x) and DataProto.to_tensordict() make one",
    ):
        tu.assert_tensordict_eq(small(), {})  # type: ignore[arg-type]
