"""The values of `Pad` and `Fill`: every one that the field cannot hold, and what is said of it."""

import enum
import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Float8e4m3fn, Float16, Float32, Int, Int64, Shaped, UInt8
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, Binary, Fill, Finite, Meta, NonTensor, Pad

from .support import refused

Scores = Float32[Tensor, "batch response"]
NO_VALUE = "is no value of the field:"


class Colour(enum.Enum):
    RED = "red"


WRONG: dict[str, tuple[Any, str]] = {
    # numbers
    "a text for a tensor": (Annotated[Scores, Pad("x")], f"Pad('x') {NO_VALUE} a tensor holds numbers"),
    "nothing for a tensor": (Annotated[Scores, Pad(None)], f"Pad(None) {NO_VALUE} a tensor holds numbers"),
    "a text where a tensor may stand": (
        Annotated[Float32[Tensor, "batch"] | NonTensor[str], Pad("x")],
        f"Pad('x') {NO_VALUE} a tensor holds numbers",
    ),
    "a number where a text may stand": (
        Annotated[Float32[Tensor, "batch"] | NonTensor[str], Pad(0)],
        f"Pad(0) {NO_VALUE} Input should be a valid string",
    ),
    "too large": (Annotated[UInt8[Tensor, "batch"], Pad(300)], f"Pad(300) {NO_VALUE} uint8 cannot hold it"),
    "too small": (Annotated[UInt8[Tensor, "batch"], Pad(-1)], f"Pad(-1) {NO_VALUE} uint8 cannot hold it"),
    "too large for a half": (
        Annotated[Float16[Tensor, "batch"], Pad(1e6)],
        f"Pad(1000000.0) {NO_VALUE} float16 cannot hold it",
    ),
    "too small for a half": (
        Annotated[Float16[Tensor, "batch"], Pad(1e-9)],
        f"Pad(1e-09) {NO_VALUE} float16 cannot hold it",
    ),
    "infinity where there is none": (
        Annotated[Float8e4m3fn[Tensor, "batch"], Pad(-math.inf)],
        f"Pad(-inf) {NO_VALUE} float8_e4m3fn cannot hold it",
    ),
    "a fraction": (Annotated[Int64[Tensor, "batch"], Pad(0.5)], f"Pad(0.5) {NO_VALUE} int64 cannot hold it"),
    "a fraction for a family": (Annotated[Int[Tensor, "batch"], Pad(0.5)], f"Pad(0.5) {NO_VALUE} int cannot hold it"),
    "NaN for integers": (Annotated[Int64[Tensor, "batch"], Pad(math.nan)], f"Pad(nan) {NO_VALUE} int64 cannot hold it"),
    "infinity for integers": (
        Annotated[Int64[Tensor, "batch"], Pad(-math.inf)],
        f"Pad(-inf) {NO_VALUE} int64 cannot hold it",
    ),
    "beyond every integer": (
        Annotated[Int64[Tensor, "batch"], Pad(2**63)],
        f"Pad(9223372036854775808) {NO_VALUE} int64 cannot hold it",
    ),
    "NaN for truth values": (
        Annotated[Bool[Tensor, "batch"], Pad(math.nan)],
        f"Pad(nan) {NO_VALUE} bool cannot hold it",
    ),
    "two for truth values": (Annotated[Bool[Tensor, "batch"], Pad(2)], f"Pad(2) {NO_VALUE} bool cannot hold it"),
    "a truth value for floats": (Annotated[Scores, Pad(True)], f"Pad(True) {NO_VALUE} float32 cannot hold it"),
    "a truth value for integers": (
        Annotated[Int64[Tensor, "batch"], Pad(False)],
        f"Pad(False) {NO_VALUE} int64 cannot hold it",
    ),
    # values that the field itself forbids
    "what is not binary": (
        Annotated[Int64[Tensor, "batch"], Binary(), Pad(-1)],
        f"Pad(-1) {NO_VALUE} Input should be 0 or 1",
    ),
    "what is not finite": (
        Annotated[Scores, Finite(), Pad(-math.inf)],
        f"Pad(-inf) {NO_VALUE} Input should be a finite number",
    ),
    "what is out of bounds": (
        Annotated[Int64[Tensor, "batch"], Field(ge=0), Pad(-100)],
        f"Pad(-100) {NO_VALUE} Input should be greater than or equal to 0",
    ),
    "what is out of the bounds of cells": (
        Annotated[NonTensor[float], Field(le=1), Pad(2)],
        f"Pad(2) {NO_VALUE} Input should be less than or equal to 1",
    ),
    "a cell of another type": (
        Annotated[NonTensor[int], Pad("x")],
        f"Pad('x') {NO_VALUE} Input should be a valid integer",
    ),
    "an empty cell": (Annotated[NonTensor[str], Pad(None)], f"Pad(None) {NO_VALUE} Input should be a valid string"),
    "another literal": (
        Annotated[NonTensor[Literal["math", "code"]], Pad("")],
        f"Pad('') {NO_VALUE} Input should be 'math' or 'code'",
    ),
    # values that the record cannot hold
    "a list": (
        Annotated[NonTensor[list[str]], Pad([])],  # type: ignore[arg-type]
        "Pad(list of 0) cannot stand in the record; it is a number, a text or None",
    ),
    "an array": (
        Annotated[NonTensor[np.ndarray], Pad(np.zeros(3))],  # type: ignore[arg-type]
        "Pad(float64[3]) cannot stand in the record; it is a number, a text or None",
    ),
    "a tensor": (
        Annotated[Scores, Pad(torch.tensor(0.0))],  # type: ignore[arg-type]
        "Pad(f32[]) cannot stand in the record; it is a number, a text or None",
    ),
    "a member of an enum": (
        Annotated[NonTensor[Colour], Pad(Colour.RED)],  # type: ignore[arg-type]
        "Pad(Colour) cannot stand in the record; it is a number, a text or None",
    ),
}


@pytest.mark.parametrize(("annotation", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_value_that_the_field_cannot_hold_is_refused(annotation: Any, text: str) -> None:
    with refused("test_a_value_that_the_field_cannot_hold_is_refused.Reads", f"x  {text}"):

        class Reads(BatchSchema):
            x: annotation


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Annotated[Scores, Fill(None)], f"Fill(None) {NO_VALUE} a tensor holds numbers"),
        (Annotated[Scores, Fill("0")], f"Fill('0') {NO_VALUE} a tensor holds numbers"),
        (Annotated[UInt8[Tensor, "batch"], Fill(256)], f"Fill(256) {NO_VALUE} uint8 cannot hold it"),
        (Annotated[NonTensor[str], Fill(None)], f"Fill(None) {NO_VALUE} Input should be a valid string"),
        (Annotated[Scores, Finite(), Fill(math.nan)], f"Fill(nan) {NO_VALUE} Input should be a finite number"),
        (Annotated[Meta[float], Fill(0)], "Fill(...) is for fields with one value per row"),
    ],
    ids=str,
)
def test_a_wrong_fill_of_an_optional_field_is_refused(annotation: Any, text: str) -> None:
    with refused("test_a_wrong_fill_of_an_optional_field_is_refused.Reads", f"x  {text}"):

        class Reads(BatchSchema):
            x: annotation | None = None


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (UInt8[Tensor, "batch"], 255),
        (Int64[Tensor, "batch"], 2**63 - 1),
        (Int64[Tensor, "batch"], 3.0),
        (Int[Tensor, "batch"], 40000),
        (Bool[Tensor, "batch"], False),
        (Bool[Tensor, "batch"], 1),
        (Float16[Tensor, "batch"], 0.1),
        (Float32[Tensor, "batch"], -math.inf),
        (Float32[Tensor, "batch"], math.nan),
        (Float32[Tensor, "batch"], 2**24 + 1),
        (Float[Tensor, "batch"], 1e300),
        (Shaped[Tensor, "batch"], 0.5),
        (Shaped[Tensor, "batch"], True),
    ],
    ids=str,
)
def test_a_number_that_a_dtype_of_the_field_holds_is_right(annotation: Any, value: Any) -> None:
    class Reads(BatchSchema):
        x: Annotated[annotation, Pad(value)]

    pad = Reads.__batchpact__.policies["x"].pad
    assert pad is not None
    assert repr(pad.value) == repr(value)


def test_the_device_that_torch_works_on_does_not_matter() -> None:
    with torch.device("meta"):

        class Reads(BatchSchema):
            x: Annotated[UInt8[Tensor, "batch"], Pad(255)]

    assert Reads.__batchpact__.policies["x"] == (None, Pad(255), None, None)
