"""Names of dtypes, long and short."""

import math

import jaxtyping
import pytest
import torch

from batchpact.schemas.dtypes import dtype_name, fits, one_dtype, short_name, torch_dtypes


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("float32", "f32"),
        ("bfloat16", "bf16"),
        ("float8_e4m3fn", "f8_e4m3fn"),
        ("int64", "i64"),
        ("uint8", "u8"),
        ("complex64", "c64"),
        ("bool", "bool"),
        ("float", "float"),
        ("int", "int"),
        ("integer", "integer"),
        ("any", "any"),
    ],
)
def test_messages_print_dtypes_short_and_families_as_they_are(name: str, short: str) -> None:
    assert short_name(name) == short


def test_no_two_dtypes_of_torch_have_one_short_name() -> None:
    names = {dtype_name(value) for value in vars(torch).values() if isinstance(value, torch.dtype)}

    assert len({short_name(name) for name in names}) == len(names) > 20


def test_a_dtype_has_the_name_that_torch_gives_it() -> None:
    assert dtype_name(torch.float32) == "float32"
    assert dtype_name(torch.half) == "float16"
    assert getattr(torch, dtype_name(torch.bfloat16)) is torch.bfloat16


def test_dtypes_that_torch_lacks_are_left_out() -> None:
    assert torch_dtypes(("int64", "int256", "nn")) == {torch.int64}
    assert torch_dtypes(tuple(jaxtyping.Bool.dtypes)) == {torch.bool}
    assert {torch.float16, torch.bfloat16, torch.float32, torch.float64} <= torch_dtypes(tuple(jaxtyping.Float.dtypes))


NUMBERS = (0, 1, -1, 256, 2**53 + 1, 10**400, 0.1, 3.0, 1e6, 1e-9, 1e300, math.inf, math.nan, True)


@pytest.mark.parametrize(
    ("dtype", "held"),
    [
        (torch.bool, [0, 1, True]),
        (torch.uint8, [0, 1, 3.0]),
        (torch.int8, [0, 1, -1, 3.0]),
        (torch.int64, [0, 1, -1, 256, 2**53 + 1, 3.0, 1e6]),
        (torch.float16, [0, 1, -1, 256, 0.1, 3.0, math.inf, math.nan]),
        (torch.float32, [0, 1, -1, 256, 2**53 + 1, 0.1, 3.0, 1e6, 1e-9, math.inf, math.nan]),
        (torch.float64, [0, 1, -1, 256, 2**53 + 1, 0.1, 3.0, 1e6, 1e-9, 1e300, math.inf, math.nan]),
        (torch.complex64, [0, 1, -1, 256, 2**53 + 1, 0.1, 3.0, 1e6, 1e-9, math.inf, math.nan]),
    ],
    ids=str,
)
def test_a_dtype_holds_a_number_that_stays_what_it_is(dtype: torch.dtype, held: list[float]) -> None:
    assert [repr(value) for value in NUMBERS if fits(value, dtype)] == [repr(value) for value in held]


def test_a_dtype_of_which_torch_has_the_name_only_holds_nothing() -> None:
    names = [name for name in ("int1", "int4", "uint4") if hasattr(torch, name)]

    assert not any(fits(0, getattr(torch, name)) for name in names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), torch.float32),
        (("bfloat16", "float32"), torch.float32),
        (("int32", "int64"), torch.int64),
        (("float16", "bfloat16"), torch.float16),
    ],
)
def test_one_dtype_of_a_family(names: tuple[str, ...], expected: torch.dtype) -> None:
    assert one_dtype(names) is expected
