"""Union: fields of every kind are compared by what they hold, and joined in place, all or none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tensordict import NonTensorStack, TensorDict

from batchpact.dataproto import tensordicts as tu
from batchpact.dataproto import union_tensor_dict
from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import function_refuses
from tests.dataproto.tensordicts.support import shown, small, tensors

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


def test_it_is_the_function_that_the_container_has() -> None:
    assert tu.union_tensor_dict is union_tensor_dict


def test_fields_of_every_kind_are_joined_in_place() -> None:
    left, right = tu.get_tensordict({"ids": small()["ids"].clone()}), small()
    before = shown(right)

    assert tu.union_tensor_dict(left, right) is left

    assert shown(left) == shown(right) == before
    assert left["flat"] is right["flat"]


def test_what_both_sides_have_must_be_equal_in_every_layout() -> None:
    left, right = small(), small()
    tu.union_tensor_dict(left, right)

    assert shown(left) == shown(small())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nested_tensors_of_every_layout_are_compared(layout: str) -> None:
    made = LAYOUTS[layout]
    other = made.nested([2, 0, 3, 1], factor=2)

    left = tu.union_tensor_dict(
        tensors(4, x=made.nested([2, 0, 3, 1])), tensors(4, x=made.nested([2, 0, 3, 1]), y=other)
    )

    assert left["y"] is other
    with pytest.raises(ValueError, match=r"BP041 conflict  x  the sides differ"):
        tu.union_tensor_dict(left, tensors(4, x=other))


def test_nan_is_nan_and_cells_are_compared_as_what_they_are() -> None:
    def side() -> TensorDict:
        cells = [float("nan"), np.arange(2), {"a": [torch.ones(2)]}]
        return tu.get_tensordict({"x": torch.tensor([float("nan"), 1, 2]), "c": cells}, {"m": {"n": np.arange(3)}})

    assert len(tu.union_tensor_dict(side(), side()).keys()) == 3


def test_a_column_whose_kind_one_side_has_forgotten_is_equal_by_its_cells() -> None:
    left = tu.get_tensordict({"score": np.array([0.5, 1.5], dtype=np.float32)})

    assert tu.union_tensor_dict(left, left.to("cpu")) is left


def test_a_column_that_is_joined_is_an_own_one() -> None:
    left, right = tu.get_tensordict({"x": torch.ones(2)}), tu.get_tensordict({"u": ["a", "b"]})

    tu.union_tensor_dict(left, right)
    left["u"][0] = "z"

    assert tu.get(right, "u") == ["a", "b"]


def test_every_conflict_is_named_and_nothing_is_joined() -> None:
    left, right = small(), small()
    before = shown(left)
    right["ids"][2] += 1
    tu.assign_non_tensor(right, turns=[[], [0.5], [{"k": 2}], None], step=4, late=1)
    right.set("uid", torch.ones(4))
    right.set("four", NonTensorStack(1, 2, 3, 4))

    with function_refuses(
        "union_tensor_dict",
        "BP041 conflict  ids    the sides differ: 2 elements differ by up to 1, first in row 2; equal values",
        "BP041 conflict  uid    the sides differ: 4 objects in non_tensor_batch against tensor f32[4]; equal values",
        "BP041 conflict  turns  the sides differ: [2][0]['k']: 1 against 2; equal values",
        "BP041 conflict  four   the sides differ: list of 4 in meta_info against 4 objects in non_tensor_batch; "
        "equal values",
        "BP041 conflict  step   the sides differ: 3 against 4; equal values",
    ):
        tu.union_tensor_dict(left, right)

    assert shown(left) == before
