"""Values in a few words: their kind and size, never their content."""

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest
import torch

from batchpact.schemas.describe import describe, describe_in_store

from .support import floats, ids, jagged, jagged_on_2, objects, strided_nested


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (floats(8, 512), "f32[8, 512]"),
        (ids(3), "i64[3]"),
        (torch.tensor(0.5), "f32[]"),
        (floats(0, 2).bfloat16(), "bf16[0, 2]"),
        (jagged(2, 3), "i64[2, jagged]"),
        (jagged_on_2(4, 2, 3), "i64[2, 4, jagged]"),
        (strided_nested(2, 3), "f32 strided nested"),
        (objects("a"), "1 object"),
        (objects("a", None), "2 objects"),
        (np.zeros((2, 3), dtype=object), "object[2, 3]"),
        (np.zeros(3, dtype=np.float32), "float32[3]"),
        (np.array(["a", "bc"]), "str64[2]"),
        (None, "None"),
        ([1, 2, 3], "list of 3"),
        ({"secret": 1}, "dict of 1"),
        (OrderedDict(), "OrderedDict of 0"),
        (Point(1, 2), "Point of 2"),
        (frozenset("ab"), "frozenset of 2"),
        (True, "bool True"),
        (5, "int 5"),
        (0.5, "float 0.5"),
        ("a long text", "str"),
        (np.float32(0.5), "float32"),
        (object(), "object"),
    ],
    ids=str,
)
def test_a_value_in_a_few_words(value: object, text: str) -> None:
    assert describe(value) == text


@pytest.mark.parametrize(
    ("value", "placement", "text"),
    [
        (floats(8, 512), "tensor", "tensor f32[8, 512]"),
        (objects("a", "b"), "non_tensor", "2 objects in non_tensor_batch"),
        (0.5, "meta", "float in meta_info"),
        ([1, 2], "meta", "list of 2 in meta_info"),
        (True, "arg", "bool in the call's arguments"),
        (floats(2), "meta", "f32[2] in meta_info"),
        ([0.5], "tensor", "list of 1 in batch"),
    ],
    ids=str,
)
def test_a_value_and_where_it_was_found(value: object, placement: str, text: str) -> None:
    assert describe_in_store(value, placement) == text


def test_a_tensor_on_a_device_without_values_is_described() -> None:
    assert describe(torch.empty(8, 512, device="meta")) == "f32[8, 512]"
