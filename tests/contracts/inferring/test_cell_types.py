"""Types of cells and meta: the narrowest that all values have."""

from __future__ import annotations

import collections
import sys
import types
import typing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from batchpact.contracts.inferring.cell_types import column_type, common_type, modules_in
from batchpact.dataproto import column
from batchpact.schemas.annotations import type_name


@dataclass
class Answer:
    """A class that source can name."""

    text: str


def local() -> object:
    class Hidden:
        pass

    return Hidden()


def no_identifier() -> object:
    """Of a class in a module such as `transformers_modules.Qwen-7B`, which no import statement can name."""
    module = types.ModuleType("a-module")
    found = module.Found = type("Found", (), {"__module__": module.__name__})
    sys.modules[module.__name__] = module
    return found()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], "int"),
        ([1, 2.5], "float"),
        ([True, 1], "Any"),
        (["a", None], "str | None"),
        ([None], "Any"),
        ([], "Any"),
        ([1, "a"], "Any"),
        ([[1], []], "list[int]"),
        ([[]], "list[Any]"),
        ([(1, 2), (3,)], "tuple[int, ...]"),
        ([{"a": 1}, {"b": 2.5}], "dict[str, float]"),
        ([{"a": 1, "b": "x"}], "dict[str, Any]"),
        ([{1, 2}], "set[int]"),
        ([[[[1]]]], "list[list[list[int]]]"),
        ([[[[[1]]]]], "list[list[list[Any]]]"),
        ([np.float32(1)], "numpy.float32"),
        ([torch.zeros(1)], "torch.Tensor"),
        ([collections.OrderedDict(a=1)], "collections.OrderedDict"),
        ([Answer("a")], f"{__name__}.Answer"),
        ([local()], "Any"),
        ([print], "Any"),
        ([typing.TypeVar("T")], "Any"),
        ([no_identifier()], "Any"),
    ],
)
def test_the_type_of_values(values: list[Any], expected: str) -> None:
    assert type_name(common_type(values)) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([np.zeros(2)], "float"),
        ([np.zeros(2, dtype=np.int8), column([1.5])], "float"),
        ([np.zeros(2, dtype=bool)], "bool"),
        ([np.array(["a", "b"])], "str"),
        ([column(["a"]), np.array(["b"])], "str"),
        ([column([]), np.zeros(2)], "float"),
        ([column([])], "Any"),
        ([np.zeros(2), column(["a"])], "Any"),
        ([column([None]), column([[1]])], "list[int] | None"),
        ([np.array([b"a"])], "bytes"),
    ],
)
def test_the_type_of_columns(columns: list[Any], expected: str) -> None:
    assert type_name(column_type(columns)) == expected


def test_the_modules_that_a_type_needs() -> None:
    assert set(modules_in(dict[str, list[np.float32] | None])) == {"numpy"}
    assert set(modules_in(list[Any])) == set()
    assert set(modules_in(types.SimpleNamespace | None)) == {"types"}
