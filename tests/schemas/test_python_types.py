"""Types of meta values and cells: a cheap look at the outer class, and a full look inside."""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NewType, Protocol, TypeVar

import numpy as np
import pytest
from annotated_types import Ge
from pydantic import BaseModel
from typing_extensions import TypeAliasType, TypedDict

from batchpact.schemas.python_types import mismatch, outer_classes

T = TypeVar("T")
Uid = NewType("Uid", str)
Tokens = TypeAliasType("Tokens", list[int])


class Timing(TypedDict):
    seconds: float


class OldTiming(typing.TypedDict):
    seconds: float


class Plain:
    pass


class Sized(Protocol):
    def __len__(self) -> int: ...


class Model(BaseModel):
    count: int


@dataclasses.dataclass
class Data:
    count: int


@pytest.mark.parametrize(
    ("live", "classes"),
    [
        (str, (str,)),
        (bool, (bool,)),
        (float, (float, int)),
        (complex, (complex, float, int)),
        (None, (type(None),)),
        (list[int], (list,)),
        (dict[str, float], (dict,)),
        (tuple[int, ...], (tuple,)),
        (Mapping[str, int], (Mapping,)),
        (Callable[[int], str], (Callable,)),
        (type[int], (type,)),
        (int | None, (int, type(None))),
        (str | list[int], (str, list)),
        (Annotated[float, Ge(0)], (float, int)),
        (Uid, (str,)),
        (Tokens, (list,)),
        (Timing, (dict,)),
        (Plain, (Plain,)),
        (np.ndarray, (np.ndarray,)),
        (np.ndarray[Any, Any], (np.ndarray,)),
    ],
    ids=str,
)
def test_the_classes_of_a_type(live: object, classes: tuple[type, ...]) -> None:
    assert outer_classes(live) == classes


@pytest.mark.parametrize("live", [Any, object, T, Sized, int | Any], ids=str)
def test_some_types_admit_every_value(live: object) -> None:
    assert outer_classes(live) is None


def test_a_literal_has_the_classes_of_its_values() -> None:
    found = outer_classes(Literal["a", 1, None])

    assert found is not None
    assert set(found) == {str, int, type(None)}


@pytest.mark.parametrize(
    ("live", "value"),
    [
        (float, 1),
        (list[int], [1, 2]),
        (dict[str, Plain], {"a": Plain()}),
        (int | None, None),
        (Literal["a", "b"], "b"),
        (Timing, {"seconds": 0.5}),
        (list[Timing], [{"seconds": 0.5}]),
        (Model, Model(count=1)),
        (Data, Data(1)),
        (list[Data | Plain], [Data(1), Plain()]),
        (Uid, "a"),
        (Tokens, [1]),
        (Any, object()),
        (np.ndarray, np.zeros(2)),
    ],
    ids=str,
)
def test_a_value_of_the_type_is_right(live: object, value: object) -> None:
    assert mismatch(live, value) is None


@pytest.mark.parametrize(
    ("live", "value", "text"),
    [
        (int, "1", "Input should be a valid integer"),
        (int, 1.0, "Input should be a valid integer"),
        (str, 1, "Input should be a valid string"),
        (bool, 1, "Input should be a valid boolean"),
        (list[int], [1, "2"], "[1] Input should be a valid integer"),
        (list[int], (1, 2), "Input should be a valid list"),
        (list[int], np.array([1, 2]), "Input should be a valid list"),
        (dict[str, list[int]], {"a": [1, None]}, "['a'][1] Input should be a valid integer"),
        (dict[str, Plain], {"a": 1}, "['a'] Input should be an instance of Plain"),
        (Timing, {"seconds": "1"}, "['seconds'] Input should be a valid number"),
        (Timing, {}, "['seconds'] Field required"),
        (Data, {"count": 1}, "Input should be an instance of Data"),
        (Annotated[float, Ge(0)], -1.0, "Input should be greater than or equal to 0"),
        (Literal["a", "b"], "c", "Input should be 'a' or 'b'"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_coerced(live: object, value: object, text: str) -> None:
    assert mismatch(live, value) == text


def test_only_the_first_mistake_is_said() -> None:
    assert mismatch(list[int], ["a", "b"]) == "[0] Input should be a valid integer"


def test_an_unhashable_type_can_be_looked_into() -> None:
    assert mismatch(Annotated[int, ["no hash"]], "a") == "Input should be a valid integer"


def test_a_typed_dict_of_either_module_is_a_dict() -> None:
    """Before Python 3.12 pydantic refuses to look into the one of `typing`."""
    assert outer_classes(OldTiming) == (dict,)
    assert mismatch(OldTiming, {"seconds": 0.5}) is None


def test_a_bound_that_cannot_be_compared_with_the_value_is_a_mismatch() -> None:
    assert mismatch(Annotated[str, Ge(0)], "a") == "Unable to apply constraint 'ge' to supplied value a"
