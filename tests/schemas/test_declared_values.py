"""Whether a field holds a declared value as it is: the same answer for tensors and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from batchpact.dataproto import column
from batchpact.schemas import Fill, Pad
from batchpact.schemas.declared_values import misfit

INF = float("inf")


@pytest.mark.parametrize(
    ("dtype", "held", "not_held"),
    [
        ("int8", [0, -128, 127, 1.0], [128, -129, 0.5, INF, True, None, "1"]),
        ("uint8", [0, 255], [-1, 256, 300, 0.5, False, None, ""]),
        ("int64", [2**63 - 1, -(2**63)], [2**63, 1e-9, float("nan"), True]),
        ("float16", [0, 0.1, 65504.0, INF, -INF, float("nan")], [1e6, 1e-30, True, None, "0"]),
        ("float32", [0, 0.1, 1e38, -INF], [1e39, 1e-60, False, None, "0"]),
        ("bool", [True, False, 0, 1, 1.0], [2, 0.5, None, "True"]),
    ],
)
def test_a_tensor_and_a_column_of_one_dtype_hold_the_same_numbers(
    dtype: str, held: list[Any], not_held: list[Any]
) -> None:
    for field in (torch.zeros(2, dtype=getattr(torch, dtype)), np.zeros(2, dtype)):
        assert [value for value in held if misfit("x", field, Pad(value)) is not None] == []
        assert [value for value in not_held if misfit("x", field, Fill(value)) is None] == []


@pytest.mark.parametrize("value", [None, "", "text", 3, 0.5, True, INF])
def test_a_column_of_objects_holds_anything(value: Any) -> None:
    assert misfit("x", column([1, 2]), Fill(value)) is None
    assert misfit("x", column([]), Pad(value)) is None


def test_a_text_column_holds_texts_and_pad_rows_do_not_make_it_wider() -> None:
    texts = np.array(["ab", "c"])

    assert misfit("x", texts, Pad("")) is misfit("x", texts, Pad("xy")) is misfit("x", texts, Fill("longer")) is None
    assert misfit("x", texts, Pad("xyz")) is not None
    assert misfit("x", texts, Fill(0)) is not None
    assert misfit("x", texts, Fill(None)) is not None


@pytest.mark.parametrize(
    "field",
    [np.array([b"a"]), np.array(["2020"], "datetime64[D]"), np.zeros(1, [("a", "i4")]), np.zeros(1, np.longdouble)],
    ids=lambda field: str(field.dtype),
)
def test_other_dtypes_hold_no_declared_value(field: Any) -> None:
    assert misfit("x", field, Pad(0)) is not None


def test_the_violation_says_field_value_and_way_out() -> None:
    number, text = misfit("x", torch.zeros(2, dtype=torch.uint8), Pad(300)), misfit("x", np.zeros(2), Fill(None))

    assert number is not None
    assert text is not None
    assert (number.code, number.field, number.placement, number.actual, number.hint) == (
        "BP045",
        "x",
        "tensor",
        "Pad(300) for u8[2]",
        "",
    )
    assert (text.placement, text.actual, text.expected, text.hint) == (
        "non_tensor",
        "Fill(None) for float64[2]",
        "a value that the field can hold as it is",
        "a column of objects holds any value: column(values)",
    )
