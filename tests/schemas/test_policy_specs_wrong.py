"""Every policy that cannot be right, and what is said of it."""

import functools
import math
from typing import Annotated, Any

import numpy as np
import pytest
from jaxtyping import Float32
from pydantic import BaseModel
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, Fill, Group, Key, Merge, Meta, NonTensor, Pad

from .support import refused

Scores = Float32[Tensor, "batch response"]
HOWS = "equal, close, first, sum, mean, max, collect, set_union and by_key"
BY_KEY = 'Merge("by_key") needs the function that says the policy of a key: Merge.by_key(policy_of)'
CLOSE = 'Merge("close") needs the deviation that is allowed: Merge.close(rtol=1e-5)'
OPTIONS = "rtol= belongs to Merge.close, policy_of= to Merge.by_key, and this is Merge"
NO_VALUE = "is no value of the field:"


class Image(BaseModel):
    width: int


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
