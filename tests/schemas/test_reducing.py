"""Sum, mean and max: the dtype stays, nothing overflows or is rounded away in silence, and other kinds are named."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.schemas.reducing import Unmergeable, reduce_numbers
from tests.dataproto.support import jagged, law


def reduced(how: str, *values: Any) -> Any:
    return reduce_numbers([(f"part {at}", value) for at, value in enumerate(values)], how)


def text_of(how: str, *values: Any) -> str:
    with pytest.raises(Unmergeable) as caught:
        reduced(how, *values)
    return str(caught.value)


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "values", "result"),
    [
        ("sum", (1, 2, 4), 7),
        ("mean", (1, 2), 1.5),
        ("max", (1, 3, 2), 3),
        ("sum", (0.5, 0.25), 0.75),
        ("mean", (0.5, 0.25, 0.75), 0.5),
        ("max", (-2.5, -1.5), -1.5),
        ("sum", (1, 0.5), 1.5),
        ("max", (math.inf, 1), math.inf),
        ("sum", (2**80, 1), 2**80 + 1),
        ("mean", (Fraction(1, 3), Fraction(2, 3)), Fraction(1, 2)),
        ("sum", (7,), 7),
        ("mean", (7,), 7.0),
    ],
)
def test_numbers_are_reduced(how: str, values: tuple[Any, ...], result: Any) -> None:
    assert reduced(how, *values) == result
    assert type(reduced(how, *values)) is type(result)


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
@pytest.mark.parametrize("values", [(math.nan, 1.0), (1.0, math.nan), (1.0, math.nan, 2.0)])
def test_nan_stays_nan(how: str, values: tuple[float, ...]) -> None:
    assert math.isnan(reduced(how, *values))
    assert math.isnan(reduced(how, *map(np.float32, values)))
    assert reduced(how, *(torch.tensor([value]) for value in values)).isnan().all()
    assert np.isnan(reduced(how, *(np.array([value]) for value in values))).all()


# --- numpy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "values", "result"),
    [
        ("sum", (np.float32(0.5), np.float32(0.25)), np.float32(0.75)),
        ("mean", (np.float32(1), np.float32(2)), np.float32(1.5)),
        ("mean", (np.float16(2048), np.float16(1)), np.float16(1024.5)),
        ("max", (np.int8(3), np.int8(-3)), np.int8(3)),
        ("sum", (np.int8(100), np.int8(27)), np.int8(127)),
        ("mean", (np.int8(100), np.int8(101)), np.float64(100.5)),
        ("sum", (np.float64(1), 2), 3.0),
        ("sum", (np.int64(1), 2), 3),
        ("max", (np.float32(1), 2), 2),
    ],
    ids=repr,
)
def test_numpy_scalars_keep_their_type(how: str, values: tuple[Any, ...], result: Any) -> None:
    """A mixture of scalars becomes a Python number, which all of them are."""
    assert reduced(how, *values) == result
    assert type(reduced(how, *values)) is type(result)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint8"])
def test_arrays_are_reduced_element_by_element_in_their_dtype(dtype: str) -> None:
    one, two = np.array([[1, 5], [3, 4]], dtype=dtype), np.array([[2, 1], [6, 4]], dtype=dtype)
    before = one.copy()

    assert reduced("sum", one, two).tolist() == [[3, 6], [9, 8]]
    assert reduced("max", one, two).tolist() == [[2, 5], [6, 4]]
    assert reduced("mean", one, two).tolist() == [[1.5, 3], [4.5, 4]]
    assert {reduced(how, one, two).dtype.name for how in ("sum", "max")} == {dtype}
    assert reduced("mean", one, two).dtype.name == (dtype if dtype.startswith("f") else "float64")
    assert (one == before).all()


def test_an_array_without_axes_stays_an_array() -> None:
    assert type(reduced("sum", np.array(1.5), np.array(2.0))) is np.ndarray
    assert reduced("sum", np.array(1.5), np.array(2.0)).tolist() == 3.5


# --- tensors ----------------------------------------------------------------------------------------------------------

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", FLOATS + WHOLE, ids=str)
def test_tensors_are_reduced_element_by_element_in_their_dtype(dtype: torch.dtype) -> None:
    one, two = torch.tensor([[1, 5], [3, 4]]).to(dtype), torch.tensor([[2, 1], [6, 4]]).to(dtype)

    assert reduced("sum", one, two).double().tolist() == torch.tensor([[3, 6], [9, 8]]).to(dtype).double().tolist()
    assert reduced("max", one, two).double().tolist() == [[2, 5], [6, 4]]
    assert reduced("mean", one, two).double().tolist() in ([[1.5, 3], [4.5, 4]], [[1.5, 3], [4.0, 4]])  # e5m2: 4.0
    assert {reduced(how, one, two).dtype for how in ("sum", "max")} == {dtype}
    assert reduced("mean", one, two).dtype is (dtype if dtype.is_floating_point else torch.float64)
    assert one.double().tolist() == [[1, 5], [3, 4]]


def test_small_floats_are_added_in_larger_ones() -> None:
    """In bf16 itself 256 + 1 is 256, however often it is done."""
    values = [torch.tensor([256.0]), *[torch.tensor([1.0])] * 8]

    assert reduced("sum", *(value.bfloat16() for value in values)).tolist() == [264.0]
    assert reduced("sum", *(value.half() * 8 for value in values)).tolist() == [2112.0]
    assert reduced("sum", *(np.float16(value.item() * 8) for value in values)) == np.float16(2112.0)


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((np.int8(100), np.int8(100)), "the sum is too large for int8[]"),
        ((np.array([1, 200], np.uint8), np.array([1, 100], np.uint8)), "the sum is too large for uint8[2]"),
        ((torch.tensor([200], dtype=torch.uint8),) * 2, "the sum is too large for u8[1]"),
        ((torch.tensor([-100], dtype=torch.int8),) * 2, "the sum is too large for i8[1]"),
    ],
)
def test_a_sum_that_would_wrap_is_refused(values: tuple[Any, ...], text: str) -> None:
    assert text_of("sum", *values) == text


@pytest.mark.parametrize("how", ["sum", "mean", "max"])
@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ((1, "two"), "part 0 has int 1, part 1 has str"),
        ((True, False), "part 0 has bool True, part 1 has bool False"),
        ((1.5, True), "part 0 has float 1.5, part 1 has bool True"),
        ((np.bool_(True), np.bool_(True)), f"part 0 has {type(np.bool_(True)).__name__}"),
        ((torch.tensor([True]), torch.tensor([True])), "part 0 has bool[1]"),
        ((np.array([True]), np.array([True])), "part 0 has bool[1]"),
        ((1j, 2j), "part 0 has complex"),
        ((torch.ones(2, dtype=torch.complex64), 1), "part 0 has c64[2], part 1 has int 1"),
        (([1], [2, 3]), "part 0 has list of 1, part 1 has list of 2"),
        (({"a": 1}, 1), "part 0 has dict of 1, part 1 has int 1"),
        ((jagged([1], [2]), jagged([1], [2])), "part 0 has i64[2, jagged]"),
        ((np.array(["a"]), np.array(["b"])), "part 0 has str32[1]"),
    ],
    ids=repr,
)
def test_what_is_no_number_is_named_with_its_part(how: str, values: tuple[Any, ...], kinds: str) -> None:
    assert text_of(how, *values) == f"{how} is for numbers, arrays and tensors, and {kinds}"


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ((torch.ones(2), torch.ones(3)), "part 0 has f32[2], part 1 has f32[3]"),
        ((torch.ones(2), torch.ones(2, 1)), "part 0 has f32[2], part 1 has f32[2, 1]"),
        ((torch.ones(2), torch.ones(2).double()), "part 0 has f32[2], part 1 has f64[2]"),
        ((torch.ones(2), np.ones(2, np.float32)), "part 0 has f32[2], part 1 has float32[2]"),
        ((torch.tensor(1.0), 1.0), "part 0 has f32[], part 1 has float 1.0"),
        ((np.ones(2), 1.0, np.ones(2)), "part 0 has float64[2], part 1 has float 1.0"),
    ],
    ids=repr,
)
def test_arrays_and_tensors_have_one_dtype_and_shape(values: tuple[Any, ...], kinds: str) -> None:
    """Nothing is broadcast: a sum of [2] and [2, 1] would be [2, 2]."""
    assert text_of("mean", *values) == f"mean needs one dtype and shape, and {kinds}"


@law
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1), st.sampled_from(["sum", "max", "mean"]))
def test_every_kind_gives_the_same_number(numbers: list[int], how: str) -> None:
    expected = reduced(how, *numbers)

    assert reduced(how, *map(np.int64, numbers)) == pytest.approx(expected, rel=1e-12)
    assert reduced(how, *map(torch.tensor, numbers)).item() == pytest.approx(expected, rel=1e-12)
    assert reduced(how, *(np.array([number]) for number in numbers)).tolist() == [pytest.approx(expected, rel=1e-12)]
