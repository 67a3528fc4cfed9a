"""Every policy that cannot be right, and what is said of it."""

import enum
import functools
import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Float8e4m3fn, Float16, Float32, Int, Int64, Shaped, UInt8
from pydantic import BaseModel, Field
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Binary, Fill, Finite, Group, Key, Merge, Meta, NonTensor, Pad

from .support import refused

Scores = Float32[Tensor, "batch response"]
HOWS = "equal, close, first, sum, mean, max, collect, set_union and by_key"
BY_KEY = 'Merge("by_key") needs the function that says the policy of a key: Merge.by_key(policy_of)'
CLOSE = 'Merge("close") needs the deviation that is allowed: Merge.close(rtol=1e-5)'
OPTIONS = "rtol= belongs to Merge.close, policy_of= to Merge.by_key, and this is Merge"
NO_VALUE = "is no value of the field:"


class Image(BaseModel):
    width: int


class Colour(enum.Enum):
    RED = "red"


def policy_of(key: str) -> Merge:
    return Merge("mean")


def merge(how: Any, **rest: Any) -> Any:
    return Annotated[Meta[dict[str, float]], Merge(how, **rest)]


WRONG: dict[str, tuple[Any, str]] = {
    # merge
    "merged rows": (
        Annotated[Scores, Merge("mean")],
        "Merge(...) says how meta values become one; rows are put one below the other",
    ),
    "merged cells": (
        Annotated[NonTensor[str], Merge("first")],
        "Merge(...) says how meta values become one; rows are put one below the other",
    ),
    "merged arguments": (
        Annotated[Arg[float], Merge("mean")],
        "Merge(...) says how meta values become one; an argument goes with one call",
    ),
    "an unknown policy": (merge("avg"), f"Merge('avg') is not known; the policies are {HOWS}"),
    "no name": (merge(["mean"]), f"Merge(['mean']) is not known; the policies are {HOWS}"),
    "by key without a function": (merge("by_key"), BY_KEY),
    "by key of a class": (
        merge("by_key", policy_of=dict),
        "Merge.by_key takes a function, whose name stands in the record, not type",
    ),
    "by key of what has no name": (
        Annotated[Meta[dict[str, float]], Merge.by_key(functools.partial(policy_of))],
        "Merge.by_key takes a function, whose name stands in the record, not partial",
    ),
    "by key of a method of a dict": (
        Annotated[Meta[dict[str, float]], Merge.by_key({"loss": Merge("mean")}.__getitem__)],
        "Merge.by_key takes a function, whose name stands in the record, not builtin_function_or_method",
    ),
    "close without a deviation": (merge("close"), CLOSE),
    "close by less than nothing": (merge("close", rtol=-1e-5), CLOSE),
    "close by anything": (merge("close", rtol=math.inf), CLOSE),
    "close by no number": (merge("close", rtol=math.nan), CLOSE),
    "close by a truth value": (merge("close", rtol=True), CLOSE),
    "a deviation of a mean": (merge("mean", rtol=1e-5), f"{OPTIONS}('mean')"),
    "a function of a mean": (merge("mean", policy_of=policy_of), f"{OPTIONS}('mean')"),
    "a function of close": (merge("close", rtol=1e-5, policy_of=policy_of), f"{OPTIONS}('close')"),
    "a deviation of by key": (merge("by_key", rtol=1e-5, policy_of=policy_of), f"{OPTIONS}('by_key')"),
    # where a value may stand
    "padded meta": (Annotated[Meta[float], Pad(0)], "Pad(...) is for fields with one value per row"),
    "padded arguments": (Annotated[Arg[float], Pad(0)], "Pad(...) is for fields with one value per row"),
    "a required field that is filled": (
        Annotated[Scores, Fill(0)],
        "Fill(...) is for optional fields; add '| None = None', or leave it out: a required field is never filled",
    ),
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
    # sides
    "a side that is none": (Annotated[Scores, Pad(0, "lft")], "Pad(side='lft'): a side is 'left' or 'right'"),
    "no side": (Annotated[Scores, Pad(0, None)], "Pad(side=None): a side is 'left' or 'right'"),
    "a side of a dim that is none": (
        Annotated[Scores, Pad(0, {"response": "lft"})],
        "Pad(side={'response': 'lft'}): a side is 'left' or 'right'",
    ),
    "a dim that is not there": (
        Annotated[Scores, Pad(0, {"respnse": "left"})],
        "Pad(side={'respnse': 'left'}): no axis of 'batch response' can be longer in 'respnse'",
    ),
    "the batch axis": (
        Annotated[Scores, Pad(0, {"batch": "left"})],
        "Pad(side={'batch': 'left'}): no axis of 'batch response' can be longer in 'batch'",
    ),
    "a fixed axis": (
        Annotated[Float32[Tensor, "batch chan=3"], Pad(0, {"chan": "left"})],
        "Pad(side={'chan': 'left'}): no axis of 'batch chan=3' can be longer in 'chan'",
    ),
    "a side where there is only the batch axis": (
        Annotated[Float32[Tensor, "batch"], Pad(0, "left")],
        "Pad(side='left'): the field has no axis that can be longer",
    ),
    "a side of cells": (
        Annotated[NonTensor[str], Pad("", {"response": "left"})],
        "Pad(side={'response': 'left'}): the field has no axis that can be longer",
    ),
    # key and group
    "a key for the batch": (Annotated[Meta[str], Key()], "Key() is for fields with one value per row"),
    "a group of a call": (Annotated[Arg[str], Group()], "Group() is for fields with one value per row"),
    "a key of several axes": (
        Annotated[Scores, Key()],
        "Key() needs one value per row: a tensor of dims \"batch\", not 'batch response'",
    ),
    "a group of several axes": (
        Annotated[Float32[Tensor, "batch ..."], Group()],
        "Group() needs one value per row: a tensor of dims \"batch\", not 'batch ...'",
    ),
    "a key that cannot be compared": (
        Annotated[NonTensor[list[str]], Key()],
        "Key() needs a text or a number per row, not list[str]",
    ),
    "a group of arrays": (
        Annotated[NonTensor[np.ndarray], Group()],
        "Group() needs a text or a number per row, not numpy.ndarray",
    ),
    "a key of models": (
        Annotated[NonTensor[Image], Key()],
        f"Key() needs a text or a number per row, not {__name__}.Image",
    ),
    "a key that is a group": (
        Annotated[NonTensor[str], Key(), Group()],
        "Key() and Group() cannot both be true: no two rows have the same key",
    ),
}


@pytest.mark.parametrize(("annotation", "text"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_policy_is_refused_with_what_to_write(annotation: Any, text: str) -> None:
    with refused("test_a_wrong_policy_is_refused_with_what_to_write.Reads", f"x  {text}"):

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


def test_every_mistake_of_a_field_is_listed() -> None:
    with refused(
        "test_every_mistake_of_a_field_is_listed.Reads",
        "x       Merge(...) says how meta values become one; rows are put one below the other",
        f"x       Merge('avg') is not known; the policies are {HOWS}",
        f"x       Pad('') {NO_VALUE} a tensor holds numbers",
        "x       Pad(side={'prompt': 'left', 'batch': 'left'}): no axis of 'batch response' can be longer in 'prompt'",
        "x       Pad(side={'prompt': 'left', 'batch': 'left'}): no axis of 'batch response' can be longer in 'batch'",
        "x       Key() needs one value per row: a tensor of dims \"batch\", not 'batch response'",
        "values  axis 0 is 'rows' here and 'batch' in x; all fields share the batch axis",
    ):

        class Reads(BatchSchema):
            x: Annotated[Scores, Merge("avg"), Pad("", {"prompt": "left", "batch": "left"}), Key()]  # type: ignore[arg-type]
            values: Float32[Tensor, "rows"]
