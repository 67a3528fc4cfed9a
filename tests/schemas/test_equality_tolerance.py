"""Equality within a relative deviation: symmetric, element by element, and only for numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.dataproto import column, difference
from tests.dataproto.support import jagged, law


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: [1, (x,)],
        lambda x: {"a": {"b": x}},
        lambda x: Point(x),
        lambda x: np.float32(x),
        lambda x: np.array([0.0, x]),
        lambda x: column([[x], None]),
        lambda x: torch.tensor([0.0, x]),
        lambda x: torch.tensor([x]).double(),
        lambda x: jagged([x], [1.0, x], dtype=torch.float32),
    ],
)
def test_a_deviation_within_the_tolerance_is_none_wherever_it_stands(make: Any) -> None:
    for other in (100.5, 99.5):
        assert difference(make(100.0), make(other), rtol=0.01) is None
        assert difference(make(other), make(100.0), rtol=0.01) is None
        assert difference(make(100.0), make(other), rtol=0.001) is not None
        assert difference(make(100.0), make(other)) is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (math.inf, 1e300),
        (math.inf, -math.inf),
        (math.nan, 1.0),
        (0.0, 1e-300),
        (1.0, -1.0),
        (True, False),
        (1, "1"),
        ("a", "b"),
        (None, 0.0),
        ({1.0}, {1.0001}),
    ],
)
def test_these_are_never_near(left: Any, right: Any) -> None:
    for one, two in ((left, right), (right, left)):
        assert difference(one, two, rtol=0.9) is not None
        if isinstance(one, float) and isinstance(two, float):
            assert (
                difference(torch.tensor([one], dtype=torch.float64), torch.tensor([two], dtype=torch.float64), rtol=0.9)
                is not None
            )
            assert difference(np.array([one]), np.array([two]), rtol=0.9) is not None


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.0])
def test_equal_is_near(value: float) -> None:
    assert difference(value, float(repr(value)), rtol=0.1) is None
    assert difference(torch.tensor([value]), torch.tensor([value]), rtol=0.1) is None


def test_other_dtypes_shapes_and_truth_values_are_not_near() -> None:
    one = torch.ones(2)

    assert difference(one, one.double(), rtol=0.5) == "f32[2] against f64[2]"
    assert difference(one, torch.ones(2, 1), rtol=0.5) == "f32[2] against f32[2, 1]"
    assert difference(torch.tensor([True]), torch.tensor([False]), rtol=0.9) == "1 element differs, first in row 0"
    assert (
        difference(torch.tensor([1 + 1j]), torch.tensor([1.001 + 1j]), rtol=0.5) == "1 element differs, first in row 0"
    )


def test_only_what_is_too_far_is_counted() -> None:
    left = torch.tensor([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]])
    right = left.clone()
    right[0, 0] += 0.005
    right[1, 1] += 1
    right[2, 1] += 2

    assert difference(left, right, rtol=0.01) == "2 elements differ by up to 2, first in row 1"
    assert difference(left, right) == "3 elements differ by up to 2, first in row 0"


@law
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0.0, 1.0))
def test_numbers_arrays_and_tensors_agree_with_math_isclose(left: float, right: float, rtol: float) -> None:
    near = math.isclose(left, right, rel_tol=rtol)

    assert (difference(left, right, rtol=rtol) is None) is near
    assert (difference(np.array([left]), np.array([right]), rtol=rtol) is None) is near
    assert (difference(*(torch.tensor([x], dtype=torch.float64) for x in (left, right)), rtol=rtol) is None) is near


@pytest.mark.parametrize("make", [float, lambda x: torch.tensor([x]), lambda x: np.array([x]), lambda x: {"a": [x]}])
def test_near_zero_an_absolute_deviation_counts(make: Any) -> None:
    """Log-probs that were computed anew: -1.0e-5 against -1.1e-5 is a tenth of the value, and nothing."""
    assert difference(make(-1.0e-5), make(-1.1e-5), rtol=1e-3) is not None
    assert difference(make(-1.0e-5), make(-1.1e-5), rtol=1e-3, atol=1e-5) is None
    assert difference(make(-1.0e-5), make(-1.0), rtol=1e-3, atol=1e-5) is not None
