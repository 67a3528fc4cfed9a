"""Policies as they are written in an annotation."""

import copy
import math
import pickle
from typing import Annotated, Any, get_args

import pytest
from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import Fill, Group, Key, Merge, NonTensor, Pad


def test_values_are_equal_unless_something_else_is_said() -> None:
    assert Merge() == Merge("equal")


def test_close_has_a_deviation_and_by_key_a_function() -> None:
    def policy_of(key: str) -> Merge:
        return Merge("max" if key.endswith("/max") else "mean")

    assert Merge.close() == Merge("close", rtol=1e-5)
    assert Merge.close(0.1) == Merge("close", rtol=0.1)
    assert Merge.close(0.1, atol=1e-4) == Merge("close", rtol=0.1, atol=1e-4)
    assert Merge.by_key(policy_of) == Merge("by_key", policy_of=policy_of)


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("right", {"prompt": "right", "response": "right"}),
        ("left", {"prompt": "left", "response": "left"}),
        ({"prompt": "left"}, {"prompt": "left", "response": "right"}),
        ({}, {"prompt": "right", "response": "right"}),
    ],
    ids=str,
)
def test_a_side_is_asked_for_by_dim_and_is_right_where_nothing_is_said(side: Any, expected: dict[str, str]) -> None:
    pad = Pad(0, side)

    assert {dim: pad.side_of(dim) for dim in expected} == expected


@pytest.mark.parametrize("policy", [Pad, Fill])
def test_values_that_python_takes_for_equal_are_told_apart(policy: Any) -> None:
    spelt = [policy(value) for value in (0, 0.0, -0.0, False, 1, True, "", None, math.nan, math.inf)]

    assert len(set(spelt)) == len(spelt)
    assert [policy(value) for value in (0, 0.0, -0.0, False, 1, True, "", None, math.nan, math.inf)] == spelt


def test_a_pad_is_no_fill_and_its_side_counts() -> None:
    assert Pad(0) != Fill(0)
    assert Pad(0) != Pad(0, "left")
    assert Pad(0, {"prompt": "left"}) == Pad(0, {"prompt": "left"})
    assert hash(Pad(0, {"prompt": "left"})) == hash(Pad(0, {"prompt": "left"}))


@pytest.mark.parametrize("values", [(0, 0.0, False), (False, 0.0, 0), (1.0, True, 1)], ids=str)
@pytest.mark.parametrize("policy", [Pad, Fill])
@pytest.mark.parametrize("inner", [NonTensor[Any], Float32[Tensor, "batch"]], ids=["column", "tensor"])
def test_an_annotation_keeps_its_own_value_beside_one_that_python_takes_for_equal(
    inner: Any, policy: Any, values: tuple[float, ...]
) -> None:
    """`typing` hands out the annotation that it made before, where the metadata of both are equal."""
    made = [get_args(Annotated[inner, policy(value)])[-1].value for value in values]

    assert [(type(value), value) for value in made] == [(type(value), value) for value in values]


@pytest.mark.parametrize(
    "policy", [Merge.close(), Pad(0, {"prompt": "left"}), Pad(math.nan), Fill(None), Key(), Group()], ids=repr
)
def test_a_policy_can_be_copied_and_sent(policy: object) -> None:
    assert copy.deepcopy(policy) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
