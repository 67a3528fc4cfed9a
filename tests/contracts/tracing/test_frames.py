"""What a frame says of a call."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch

from batchpact.contracts.tracing.frames import arguments, batches_around, defaults, home, wrapped
from batchpact.dataproto import DataProto


def frame() -> FrameType:
    """The frame of the caller."""
    return sys._getframe(1)


def function(first: int, /, second: int = 2, *more: int, third: str = "c", **rest: Any) -> FrameType:
    local = first + second
    assert local
    return frame()


class Owner:
    def method(self, data: object) -> FrameType:
        return frame()


def test_arguments_by_their_parameters() -> None:
    assert arguments(function(1)) == {"first": 1, "second": 2, "third": "c"}
    assert arguments(function(1, 2, 3, 4, fourth=5)) == {
        "first": 1,
        "second": 2,
        "third": "c",
        "*0": 3,
        "*1": 4,
        "fourth": 5,
    }
    assert arguments(Owner().method(7)) == {"data": 7}


def test_defaults_of_a_function_that_its_module_has() -> None:
    found = defaults(function(1))

    assert (found["second"], found["third"]) == (2, "c")
    assert defaults(Owner().method(1)) == {}


def test_where_a_function_is_at_home() -> None:
    def inner() -> FrameType:
        return frame()

    assert home(function(1)) == f"{__name__}.function"
    if sys.version_info >= (3, 11):
        assert home(inner()) == f"{__name__}.test_where_a_function_is_at_home.inner"


def test_the_batches_of_the_callers_the_nearest_first() -> None:
    def inner(seen: list[Any]) -> None:
        near = DataProto.from_dict({"near": torch.zeros(1)})
        seen += batches_around(called())
        assert near

    def called() -> FrameType:
        return frame()

    far = DataProto.from_dict({"far": torch.zeros(1)})
    found: list[Any] = []
    inner(found)

    assert [list(batch.batch.keys()) for batch in found] == [["near"], ["far"]]
    assert found[1] is far


def test_what_a_wrapper_wraps() -> None:
    def decorated(given: Any) -> Any:
        def wrapper(*more: Any, **rest: Any) -> FrameType:
            assert given
            return frame()

        return wrapper

    def closure(data: Any) -> FrameType:
        assert decorated and data
        return frame()

    assert list(wrapped(decorated(function)())) == [function.__code__]
    assert list(wrapped(decorated(3)())) == []
    assert list(wrapped(closure(1))) == []
    assert list(wrapped(function(1))) == []
