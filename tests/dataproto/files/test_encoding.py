"""Cells and meta come back as what they were: each type, bit by bit, at any depth. What is no data is named."""

from __future__ import annotations

import datetime
import enum
import math
import zoneinfo
from collections import OrderedDict, namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from batchpact.dataproto import column
from batchpact.dataproto.files.encoding import DEPTH, Encoding, Unencodable
from tests.dataproto.files.values import same, trip
from tests.dataproto.nested_layouts import LAYOUTS
from tests.dataproto.support import jagged_on_2, law, plain_tensor

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")

# --- what comes back --------------------------------------------------------------------------------------------------

NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers()
TEXTS = st.text(st.characters(codec=None)) | st.binary()
TIMES = st.dates() | (st.times() | st.datetimes()).map(lambda time: time.replace(fold=0)) | st.timedeltas()
KEYS = st.recursive(
    NUMBERS | TEXTS | TIMES, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=3
)
SCALARS = st.sampled_from(
    [
        *(np.float32(1.5), np.float64("nan"), np.int8(-3), np.bool_(True), np.complex64(1j), np.uint64(2**64 - 1)),
        *(np.datetime64("2025-01-01T00", "ns"), np.timedelta64(5, "D"), np.datetime64("NaT"), np.longdouble(1) / 3),
        *(np.str_("é"), np.bytes_(b"x\x00"), np.str_("\ud800"), np.str_("x\x00"), np.float16(-0.0)),
    ]
)
VALUES = st.recursive(
    NUMBERS | TEXTS | TIMES | SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(column)
        | st.dictionaries(KEYS, inner)
        | st.dictionaries(st.text(), inner)
        | st.sets(KEYS)
        | st.frozensets(KEYS)
    ),
    max_leaves=20,
)


@given(VALUES)
@law
def test_whatever_is_data_comes_back_as_it_was(value: Any) -> None:
    assert same(trip(value), value)


CORNERS: dict[str, Any] = {
    "int64": [-(2**63), 2**63 - 1, 2**64 - 1],
    "beyond": [2**64, -(2**63) - 1, 10**5000, -(10**5000), 255**9, -(256**8)],
    "mixed": [2**64, 1, "a", None, True, -0.0],
    "floats": [math.nan, math.inf, -math.inf, -0.0, 5e-324],
    "true and one": {True: "a"},
    "one": {1.0: "a"},
    "order": {"z": 1, "a": 2, "m": 3},
    "text": ["", "é", "\U0001f600", "\x00", "\ud800", "a\udfffb"],
    "keys": {"\ud800": 1, "a": 2},
    "empty": [[], (), {}, set(), frozenset(), "", b"", np.array([]), column([])],
    "zones": [
        datetime.datetime(2025, 1, 2, tzinfo=datetime.timezone.utc),
        datetime.datetime(2025, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-5, minutes=-30, seconds=-1))),
        datetime.time(1, 2, tzinfo=datetime.timezone.utc),
    ],
    "arrays": [
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::-3],
        np.array(5),
        np.array(None, dtype=object),
        np.zeros((0, 3), ">f4"),
        np.array(["a", "bcd"]),
        np.array([b"a\x00b"]),
        np.array([[1, None], ["x", [2]]], dtype=object),
        np.array(["2025"], "M8[25us]"),
        np.broadcast_to(np.float32(2), (3, 2)),
    ],
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners_come_back(name: str) -> None:
    assert same(trip(CORNERS[name]), CORNERS[name])


def test_arrays_that_come_back_can_be_written_into() -> None:
    found = trip([np.zeros(2), torch.zeros(2)])
    found[0][:] = 1
    found[1].fill_(1)

    assert found[0].flags.owndata or found[0].base.flags.owndata


@pytest.mark.parametrize("name", LAYOUTS)
def test_nested_tensors_come_back(name: str) -> None:
    tensor = LAYOUTS[name].nested([2, 0, 3]).detach()
    found = trip({"x": [tensor]})["x"][0]

    assert (found.layout, found.dtype) == (tensor.layout, tensor.dtype)
    assert plain_tensor(found) == plain_tensor(tensor)


def test_tensors_come_back() -> None:
    for tensor in (torch.tensor(1.5), torch.arange(6).reshape(2, 3).T, torch.empty(0, 3), jagged_on_2([[1, 2]], [[3]])):
        found = trip(tensor)
        assert found.dtype is tensor.dtype and found.shape[0:1] == tensor.shape[0:1]
        assert found.is_nested or torch.equal(found, tensor)


def test_as_deep_as_allowed_comes_back() -> None:
    deep: Any = []
    for _ in range(DEPTH):
        deep = [deep, b""]

    assert same(trip(deep), deep)
    with pytest.raises(Unencodable, match=rf"^list more than {DEPTH} levels deep$"):
        Encoding().node([deep])


# --- what does not go in ----------------------------------------------------------------------------------------------


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    pass


Point = namedtuple("Point", "x y")
ODD: dict[str, Any] = {
    "builtin_function_or_method": len,
    f"{__name__}.Level": Level.LOW,
    f"{__name__}.Name": Name("x"),
    f"{__name__}.Point": Point(1, 2),
    "collections.OrderedDict": OrderedDict(),
    "decimal.Decimal": Decimal(1),
    "range": range(3),
    "bytearray": bytearray(b"x"),
    "object": object(),
    "enum.EnumType" if hasattr(enum, "EnumType") else "enum.EnumMeta": Level,
    "torch.Size": torch.Size([1]),
    "torch.dtype": torch.float32,
    "numpy.void": np.void(b"x"),
    "numpy.ma.MaskedArray": np.ma.array([1]),
    "numpy array of [('a', '<i4')]": np.zeros(1, [("a", "i4")]),
    "sparse_coo tensor": torch.eye(2).to_sparse(),
    "tensor without values, on the meta device": torch.empty(2, device="meta"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_is_no_data_is_named(what: str) -> None:
    with pytest.raises(Unencodable) as caught:
        Encoding().node({"a": [(ODD[what],)]})
    assert (caught.value.what, caught.value.path) == (what, "['a'][0][0]")


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2025, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")),
        datetime.datetime(2025, 1, 1, fold=1),
        datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(0), "mine")),
    ],
    ids=repr,
)
def test_a_time_that_its_text_does_not_say_is_no_data(value: datetime.datetime) -> None:
    with pytest.raises(Unencodable, match=r"^datetime\.datetime that its ISO 8601 text does not say wholly$"):
        Encoding().node(value)


def test_what_holds_itself_is_no_data() -> None:
    loop: dict[str, Any] = {}
    loop["x"] = [1, loop]

    with pytest.raises(Unencodable, match=r"^dict that holds itself$") as caught:
        Encoding().node(loop)
    assert caught.value.path == "['x'][1]"
    both = [[1, b""]] * 2  # twice the same is no circle
    assert trip(both) == both
