"""What cannot be read as tensors: whatever is malformed, there is one error that names it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict

from batchpact.dataproto import deserialize_single_tensor, deserialize_tensordict, serialize_tensordict
from batchpact.schemas import BatchError
from tests.dataproto.support import function_refuses, jagged, jagged_on_2, law
from tests.dataproto.test_serialization import F, as_lists, floats

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

DENSE = "a tensor as (dtype, shape, bytes)"
NESTED_FORM = "a nested one as ('jagged' or 'strided', list of rows)"

TENSORS: dict[str, tuple[Any, str]] = {
    "no tuple": ("x", f"str; {DENSE}"),
    "too short": ((F, (2,)), f"tuple of 2; {DENSE}"),
    "no dtype": (("jagged", (2,), bytes(8)), "dtype 'jagged'; the name of a torch dtype"),
    "quantized": (("qint8", (2,), bytes(2)), "dtype 'qint8'; the name of a torch dtype"),
    "unknown dtype": (("float33", (2,), bytes(8)), "dtype 'float33'; the name of a torch dtype"),
    "dtype itself": ((torch.float32, (2,), bytes(8)), "dtype; the name of a torch dtype"),
    "no shape": ((F, 2, bytes(8)), "int 2; a shape"),
    "odd sizes": ((F, (2, "3"), bytes(24)), "tuple of 2; a shape"),
    "negative": ((F, (-2,), bytes(8)), "tuple of 1; a shape"),
    "no bytes": ((F, (2,), 8), "int 8; bytes, in one run"),
    "text": ((F, (2,), "12345678"), "str; bytes, in one run"),
    "bytes with gaps": ((F, (1,), np.zeros(8, np.uint8)[::2]), "uint8[4]; bytes, in one run"),
    "cut off": ((F, (2,), bytes(7)), "7 bytes; those of f32[2]"),
    "too long": ((F, (0, 2), bytes(1)), "1 byte; those of f32[0, 2]"),
    "no whole row": ((F, (2, -1), bytes(12)), "12 bytes; those of f32[2, -1]"),
    "any size": ((F, (0, -1), b""), "0 bytes; those of f32[0, -1]"),
    "two open sizes": ((F, (-1, -1), bytes(8)), "8 bytes; those of f32[-1, -1]"),
}


@pytest.mark.parametrize(("given", "line"), TENSORS.values(), ids=TENSORS.keys())
def test_a_malformed_tensor_is_refused(given: Any, line: str) -> None:
    with function_refuses("deserialize_single_tensor", f"BP047 encoding  arr  {line}"):
        deserialize_single_tensor(given)


def test_an_open_size_follows_from_the_bytes() -> None:
    assert deserialize_single_tensor((F, (2, -1), floats(1, 2, 3, 4))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def row(*values: float) -> Any:
    return F, (len(values),), floats(*values)


FIELDS: dict[str, tuple[Any, str]] = {
    "one part": (("jagged",), f"tuple of 1; {DENSE}, or {NESTED_FORM}"),
    "dense": ((F, (2,), bytes(7)), "7 bytes; those of f32[2]"),
    "layout": (("sparse_coo", [row(1)]), f"'sparse_coo' with list of 1; {NESTED_FORM}"),
    "rows": (("jagged", 7), f"'jagged' with int 7; {NESTED_FORM}"),
    "a row": (("jagged", [row(1), 7]), f"int 7; {DENSE}"),
    "no rows": (
        ("jagged", []),
        "a nested tensor without rows, of unknown dtype; (layout, [], dtype, shape of a row)",
    ),
    "dtypes": (("strided", [row(1), ("int32", (1,), bytes(4))]), "f32[1] and i32[1]; rows of float32"),
    "declared dtype": (("jagged", [row(1)], "int32", (-1,)), "f32[1]; rows of int32"),
    "ranks": (("jagged", [row(1), (F, (1, 1), bytes(4))]), "f32[1] and f32[1, 1]; rows that differ on one axis alone"),
    "two axes": (
        ("jagged", [(F, (1, 2), bytes(8)), (F, (2, 1), bytes(8))]),
        "f32[1, 2] and f32[2, 1]; rows that differ on one axis alone",
    ),
    "two marks": (
        ("jagged", [(F, (1, -1), bytes(8)), (F, (-1, 1), bytes(8))]),
        "f32[1, 2] and f32[2, 1]; rows that differ on one axis alone",
    ),
    "declared shape": (("jagged", [row(1)], F, (2, -1)), "f32[1]; rows that differ on one axis alone"),
    "no axis": (("jagged", [(F, (), bytes(4))]), "f32[]; rows that differ on one axis alone"),
    "other rows": (row(1, 2, 3), "f32[3]; batch size [2]"),
    "other nested rows": (("jagged", [row(1)]), "f32[1, jagged]; batch size [2]"),
    "no batch axis": ((F, (), bytes(4)), "f32[]; batch size [2]"),
}


@pytest.mark.parametrize(("given", "line"), FIELDS.values(), ids=FIELDS.keys())
def test_a_malformed_field_is_refused_by_name(given: Any, line: str) -> None:
    with function_refuses("deserialize_tensordict", f"BP047 encoding  x  {line}"):
        deserialize_tensordict(((2,), None, {"ok": row(1, 2), "x": given}))


def test_all_malformed_fields_are_named() -> None:
    with function_refuses(
        "deserialize_tensordict",
        "BP047 encoding  a   7 bytes; those of f32[2]",
        "BP047 encoding  bb  f32[1]; batch size [2]",
    ):
        deserialize_tensordict(((2,), None, {"a": (F, (2,), bytes(7)), "ok": row(1, 2), "bb": row(1)}))


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (None, "None; (batch size, device, tensors by name)"),
        (((2,), None), "tuple of 2; (batch size, device, tensors by name)"),
        (((2,), None, [row(1)]), "list of 1; a dict of encoded tensors by name"),
        (((2,), None, {1: row(1)}), "dict of 1; a dict of encoded tensors by name"),
        (((-1,), None, {}), "tuple of 1; a shape"),
        (((2,), 0, {}), "int 0; the name of a device, or None"),
    ],
)
def test_a_malformed_whole_is_refused(given: Any, line: str) -> None:
    with function_refuses("deserialize_tensordict", f"BP047 encoding  arr  {line}"):
        deserialize_tensordict(given)


@pytest.mark.parametrize("device", ["nowhere", "xla:0"])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    with pytest.raises(BatchError, match=f"; device '{device}'$") as caught:
        deserialize_tensordict(((2,), device, {}))

    assert caught.value.violations[0].code == "BP047"


def test_rows_that_are_no_nested_tensor_are_refused() -> None:
    with pytest.raises(BatchError, match=r"; rows of a nested tensor$"):
        deserialize_tensordict(((2,), None, {"x": ("strided", [row(1), (F, (1, 1), bytes(4))])}))


JUNK = [
    "qint8",
    None,
    0,
    -1,
    2.5,
    "jagged",
    "float32",
    "",
    b"",
    b"\0" * 8,
    (),
    [],
    {},
    (2,),
    [-1],
    {"x": 1},
    np.zeros(3),
    torch.int8,
]


@law
@given(st.data())
def test_whatever_is_changed_in_the_form_there_is_one_error_or_none(data: st.DataObject) -> None:
    encoded = as_lists(
        serialize_tensordict(
            TensorDict({"x": torch.ones(2, 2), "j": jagged([1], []), "k": jagged_on_2([[1]], [[2]])}, batch_size=[2])
        )
    )
    for _ in range(data.draw(st.integers(1, 3))):
        change(data, encoded)

    try:
        back = deserialize_tensordict(encoded)
    except BatchError as error:
        assert {violation.code for violation in error.violations} == {"BP047"}
    else:
        assert back.batch_size[:1] in ((), (2,))


def change(data: st.DataObject, encoded: Any) -> None:
    """Replace, or remove, a part at any depth."""
    while True:
        places = list(encoded) if isinstance(encoded, dict) else list(range(len(encoded)))
        if not places:
            return
        place = data.draw(st.sampled_from(places))
        inner = encoded[place]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            if data.draw(st.booleans()):
                del encoded[place]
            else:
                encoded[place] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
            return
        encoded = inner
