"""Markers are values: equal by what they say, usable in a set, fixed once they are made."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any, get_args

import numpy as np
import pytest

from batchpact.schemas import (
    Arg,
    Binary,
    Fill,
    Finite,
    From,
    Group,
    Jagged,
    Key,
    Merge,
    Meta,
    Name,
    NonTensor,
    Pad,
    SameAs,
    When,
    config,
)
from batchpact.schemas.markers import MARKERS, Placed

EXAMPLES = [
    Jagged("length"),
    Finite(),
    Binary(),
    Name("__num_turns__"),
    From("algorithm.gamma"),
    Merge("mean"),
    Merge.close(1e-3),
    Pad(0, {"prompt": "left"}),
    Fill(None),
    Key(),
    Group(),
    When(config("critic.enable")),
    SameAs("response_mask"),
]


def test_every_marker_is_known_to_the_guess_for_a_class_where_an_instance_belongs() -> None:
    assert {type(marker) for marker in EXAMPLES} == set(MARKERS)


@pytest.mark.parametrize("marker", EXAMPLES, ids=repr)
def test_a_marker_is_a_frozen_value(marker: Any) -> None:
    assert is_dataclass(marker)
    again = type(marker)(*[getattr(marker, part.name) for part in fields(marker) if part.init])
    assert again == marker
    assert {again, marker} == {marker}
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        marker.anything = 1  # type: ignore[attr-defined]


def test_the_placements_read_as_plain_types() -> None:
    """What type checkers see: a float, a float, an array."""
    assert get_args(Meta[float]) == (float, Placed("meta"))
    assert get_args(Arg[float]) == (float, Placed("arg"))
    array, placed = get_args(NonTensor.__value__)
    assert array.__origin__ is np.ndarray
    assert placed == Placed("non_tensor")
