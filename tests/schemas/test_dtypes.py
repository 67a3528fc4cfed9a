"""Names of dtypes, long and short."""

import jaxtyping
import pytest
import torch

from batchpact.schemas.dtypes import dtype_name, short_name, torch_dtypes


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
