"""What is equal, and how a difference reads: structural, NaN equals NaN, safe with cycles and with others' code."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from batchpact.dataproto import difference, equal
from batchpact.schemas.equality import same_memory
from tests.dataproto.support import jagged, jagged_on_2

NAN = float("nan")


@dataclass
class Call:
    name: str
    arguments: Any
    elapsed: float = field(default=0.0, compare=False)


@dataclass(slots=True)
class Slotted:
    values: np.ndarray


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Stubborn:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not today")

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Marker:
    pass


class Silent:
    """Says nothing about its own equality."""


# --- equal ------------------------------------------------------------------------------------------------------------

EQUAL: dict[str, tuple[Any, Any]] = {
    "None": (None, None),
    "int and float": (1, 1.0),
    "NaN": (NAN, float("nan")),
    "NaN of numpy": (np.float32("nan"), np.float32("nan")),
    "complex NaN": (complex(NAN, 1), complex(NAN, 1)),
    "no time": (np.datetime64("NaT"), np.datetime64("NaT")),
    "text": ("a", "a"),
    "enum": (Color.RED, Color.RED),
    "set": ({1, 2}, {2, 1}),
    "dict in another order": ({"a": 1, "b": NAN}, {"b": float("nan"), "a": 1}),
    "nested": ([(1, {"a": [NAN]})], [(1, {"a": [float("nan")]})]),
    "array in a dict": ({"a": np.array([1.0, NAN])}, {"a": np.array([1.0, NAN])}),
    "tensor in a list": ([torch.tensor([1.0, NAN])], [torch.tensor([1.0, NAN])]),
    "object array": (np.array([None, {"a": NAN}], dtype=object), np.array([None, {"a": float("nan")}], dtype=object)),
    "empty arrays": (np.empty((0, 2)), np.empty((0, 2))),
    "text array": (np.array(["a", "b"]), np.array(["a", "b"])),
    "times": (np.array(["NaT", "2026-01-01"], dtype="M8[D]"), np.array(["NaT", "2026-01-01"], dtype="M8[D]")),
    "read-only array": (np.frombuffer(b"\x01\x02", dtype=np.uint8), np.array([1, 2], dtype=np.uint8)),
    "other byte order": (np.array([1.0, NAN], dtype=">f4"), np.array([1.0, NAN], dtype=">f4")),
    "long double": (np.array([1, NAN], dtype=np.longdouble), np.array([1, NAN], dtype=np.longdouble)),
    "dataclass": (Call("f", {"x": np.arange(2)}), Call("f", {"x": np.arange(2)})),
    "field that does not count": (Call("f", 1, elapsed=0.1), Call("f", 1, elapsed=0.2)),
    "dataclass without fields": (Marker(), Marker()),
    "slots": (Slotted(np.array([NAN])), Slotted(np.array([NAN]))),
    "jagged": (jagged([1], [2, 3]), jagged([1], [2, 3])),
    "jagged on axis 2": (jagged_on_2([[1], [2]], [[], []]), jagged_on_2([[1], [2]], [[], []])),
    "expanded": (torch.ones(1, 1).expand(3, 2), torch.ones(3, 2)),
    "graph": (torch.ones(2, requires_grad=True), torch.ones(2)),
    "TensorDict": (TensorDict({"a": torch.ones(2)}, batch_size=[2]), TensorDict({"a": torch.ones(2)}, batch_size=[2])),
    "no element": (torch.empty(0, 3), torch.empty(0, 3)),
}


@pytest.mark.parametrize(("left", "right"), EQUAL.values(), ids=EQUAL.keys())
def test_these_are_equal(left: Any, right: Any) -> None:
    assert difference(left, right) is None
    assert difference(right, left) is None
    assert equal(left, right)


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2),
        *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64),
    ],
)
def test_every_dtype_is_compared(dtype: torch.dtype) -> None:
    left, right = torch.tensor([1, 2, 3]).to(dtype), torch.tensor([1, 1, 1]).to(dtype)

    assert difference(left, left.clone()) is None
    assert difference(left, right) == "2 elements differ by up to 2, first in row 1"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint16, np.uint32, np.uint64, np.int8, ">i4", "<f8"])
def test_every_numeric_column_is_compared(dtype: Any) -> None:
    left, right = np.array([1, 2, 3]).astype(dtype), np.array([1, 1, 1]).astype(dtype)

    assert difference(left, left.copy()) is None
    assert difference(left, right) == "2 elements differ by up to 2, first in row 1"


# --- different --------------------------------------------------------------------------------------------------------

DIFFERENT: list[tuple[Any, Any, str]] = [
    (
        TensorDict({"a": torch.arange(2)}, batch_size=[2]),
        TensorDict({"a": torch.ones(2, dtype=torch.int64)}, batch_size=[2]),
        "['a']: 1 element differs by up to 1, first in row 0",
    ),
    (
        TensorDict({"a": torch.ones(2)}, batch_size=[2]),
        TensorDict({"a": torch.ones(2), "b": torch.ones(2)}, batch_size=[2]),
        "the key 'b' is on one side only",
    ),
    (1, 2, "1 against 2"),
    (1, True, "int 1 against bool True"),
    (0.0, False, "float 0.0 against bool False"),
    (1, np.int64(1), "int 1 against int64"),
    (1, "1", "int 1 against str"),
    (None, 0, "None against int 0"),
    (NAN, 1.0, "nan against 1.0"),
    ("a", "b", "'a' against 'b'"),
    ("x" * 99, "y", f"'{'x' * 56}... against 'y'"),
    (Color.RED, Color.BLUE, "<Color.RED: 1> against <Color.BLUE: 2>"),
    ([1], (1,), "list of 1 against tuple of 1"),
    ([1], [1, 2], "list of 1 against list of 2"),
    ([1, [2, 3]], [1, [2, 4]], "[1][1]: 3 against 4"),
    ({"a": 1}, {"b": 1}, "the key 'a' is on one side only"),
    ({"a": {1: 0}}, {"a": {1: 0, 2: 0}}, "['a']: the key 2 is on one side only"),
    ({"a": [0, {"b": 1}]}, {"a": [0, {"b": 2}]}, "['a'][1]['b']: 1 against 2"),
    ({"a": 1}, OrderedDict(a=1), "dict of 1 against OrderedDict of 1"),
    (np.arange(3), [0, 1, 2], "int64[3] against list of 3"),
    (np.arange(3), torch.arange(3), "int64[3] against i64[3]"),
    (np.arange(3), np.arange(3.0), "int64[3] against float64[3]"),
    (np.arange(4), np.arange(4).reshape(2, 2), "int64[4] against int64[2, 2]"),
    ({"a": np.arange(3)}, {"a": np.array([0, 1, 5])}, "['a']: 1 element differs by up to 3, first in row 2"),
    (np.array(["a", "b"]), np.array(["a", "c"]), "element 1 differs"),
    (np.array([1, 2], dtype=np.longdouble), np.array([1, 3], dtype=np.longdouble), "element 1 differs"),
    (np.array(["NaT"], dtype="M8[s]"), np.array([0], dtype="M8[s]"), "element 0 differs"),
    (np.array([[1], [2, 3]], dtype=object), np.array([[1], [2, 4]], dtype=object), "[1][1]: 3 against 4"),
    (Call("f", {"x": 1}), Call("f", {"x": 2}), "['arguments']['x']: 1 against 2"),
    (Slotted(np.arange(2)), Slotted(np.zeros(2, int)), "['values']: 1 element differs by up to 1, first in row 1"),
    (Stubborn(), Stubborn(), "Stubborn cannot be compared: not today"),
    (Call, Slotted, f"{Call!r} against {Slotted!r}"),
    (torch.tensor(1.0), torch.tensor(3.5), "1 element differs by up to 2.5, first in row 0"),
    (torch.tensor([1.0, NAN]), torch.tensor([1.0, 2.0]), "1 element differs NaN on one side, first in row 1"),
    (torch.tensor([1.0, np.inf]), torch.tensor([1.0, 0.0]), "1 element differs by up to inf, first in row 1"),
    (torch.tensor([True, False]), torch.tensor([True, True]), "1 element differs, first in row 1"),
    (torch.tensor([1j, 2j]), torch.tensor([0j, 0j]), "2 elements differ, first in row 0"),
    (torch.ones(2, 3), torch.ones(3, 2), "f32[2, 3] against f32[3, 2]"),
    (torch.ones(2), torch.ones(2).half(), "f32[2] against f16[2]"),
    (torch.ones(2), torch.ones(2, 1), "f32[2] against f32[2, 1]"),
    (jagged([1], [2, 3]), jagged([1, 2], [3]), "other row lengths"),
    (jagged([1, 2], [], [3, 4]), jagged([1, 2], [], [3, 9]), "1 element differs by up to 5, first in row 2"),
    (
        jagged_on_2([[1, 2], [3, 4]], [[5], [6]]),
        jagged_on_2([[1, 2], [3, 4]], [[5], [7]]),
        "1 element differs by up to 1, first in row 1",
    ),
    (jagged_on_2([[1], [2]]), jagged_on_2([[1], [2], [3]]), "i64[1, 2, jagged] against i64[1, 3, jagged]"),
    (jagged([1], [2]), torch.tensor([[1], [2]]), "i64[2, jagged] against i64[2, 1]"),
    (
        torch.nested.nested_tensor_from_jagged(torch.ones(2, 3), torch.tensor([0, 1, 2])),
        torch.nested.nested_tensor_from_jagged(torch.ones(3, 2), torch.tensor([0, 1, 2]), jagged_dim=2),
        "ragged on axis 1 against axis 2",
    ),
]


@pytest.mark.parametrize(("left", "right", "text"), DIFFERENT, ids=[text for *_, text in DIFFERENT])
def test_a_difference_is_said_with_its_path(left: Any, right: Any, text: str) -> None:
    assert difference(left, right) == text
    assert not equal(left, right)
    assert not equal(right, left)


def test_an_object_that_says_nothing_of_its_equality_is_equal_to_itself_only() -> None:
    one, other = Silent(), Silent()

    assert equal([one], [one])
    assert difference(one, other) == f"{repr(one)[:57]}... against {repr(other)[:57]}..."


def test_a_path_may_be_given() -> None:
    assert difference({"a": 1}, {"a": 2}, "meta") == "meta['a']: 1 against 2"


# --- cycles -----------------------------------------------------------------------------------------------------------


def ring(*values: Any) -> list[Any]:
    made: list[Any] = list(values)
    made.append({"again": made})
    return made


def test_cycles_end() -> None:
    assert difference(ring(1, 2), ring(1, 2)) is None
    assert difference(ring(1, 2), ring(1, 3)) == "[1]: 2 against 3"
    assert difference(ring(1), ring(1, 2)) == "list of 2 against list of 3"


def test_a_dataclass_that_holds_itself_ends() -> None:
    one, other = Call("f", None), Call("f", None)
    one.arguments, other.arguments = [one], [other]

    assert difference(one, other) is None
    other.name = "g"
    assert difference(one, other) == "['name']: 'f' against 'g'"


def test_a_value_that_is_met_twice_is_compared_twice() -> None:
    shared = [1]

    assert difference([shared, shared], [[1], [2]]) == "[1][0]: 1 against 2"


class MadeOnTheFly(Mapping[int, list[int]]):
    """Its values live no longer than somebody looks at them, and the next one may take their address."""

    def __init__(self, values: list[int]) -> None:
        self._values = values

    def __getitem__(self, key: int) -> list[int]:
        return [self._values[key]]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._values)))

    def __len__(self) -> int:
        return len(self._values)


def test_values_that_are_made_on_the_fly_are_all_compared() -> None:
    assert difference(MadeOnTheFly([1] * 99), MadeOnTheFly([1] * 99)) is None
    assert difference(MadeOnTheFly([1] * 99), MadeOnTheFly([1] * 98 + [2])) == "[98][0]: 1 against 2"


# --- memory -----------------------------------------------------------------------------------------------------------


def test_the_same_memory_is_known_without_comparing() -> None:
    base = torch.arange(6).reshape(2, 3)

    assert same_memory(base, base)
    assert same_memory(base, base.view(2, 3))
    assert not same_memory(base, base.clone())
    assert not same_memory(base, base.t())
    assert not same_memory(base[:1], base[1:])
    assert not same_memory(base, base.view(torch.float64))
    assert not same_memory(jagged([1]), jagged([1]))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_strided_nested_tensors_are_compared_row_by_row() -> None:
    def strided(last: int) -> torch.Tensor:
        return torch.nested.nested_tensor([torch.tensor([1, 2]), torch.tensor([last])])

    assert difference(strided(3), strided(3)) is None
    assert difference(strided(3), strided(5)) == "row 1: 1 element differs by up to 2, first in row 0"
    assert difference(strided(3), torch.nested.nested_tensor([torch.tensor([1, 2])])) == "2 rows against 1 row"
    assert difference(strided(3), torch.ones(2, 2, dtype=torch.int64)) == "i64 strided nested against i64[2, 2]"


def test_a_jagged_tensor_is_its_rows_whatever_lies_between_them() -> None:
    padded, bounds = torch.arange(8).reshape(2, 4), {"start": torch.tensor([0, 1]), "length": torch.tensor([2, 3])}
    holey = torch.nested.narrow(padded, dim=1, layout=torch.jagged, **bounds)
    assert holey.lengths() is not None

    assert difference(holey, jagged([0, 1], [5, 6, 7])) is None
    assert difference(holey, jagged([0, 1], [5, 6, 9])) == "1 element differs by up to 2, first in row 1"


def test_the_dtype_of_the_offsets_does_not_count() -> None:
    short = torch.nested.nested_tensor_from_jagged(torch.arange(3), torch.tensor([0, 1, 3], dtype=torch.int32))

    assert difference(short, jagged([0], [1, 2])) is None
    assert difference(short, jagged([0], [1, 3])) == "1 element differs by up to 1, first in row 1"
