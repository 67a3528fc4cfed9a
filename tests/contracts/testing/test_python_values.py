"""Values of Python types: what nobody can make is said in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from batchpact.contracts.testing.python_values import python_value
from batchpact.contracts.testing.unmeetable import Unmeetable


@dataclass
class Picky:
    """A class that refuses what is drawn for it."""

    number: int

    def __post_init__(self) -> None:
        raise ValueError("it is too small")


@dataclass
class Endless:
    """A class that nobody can make."""

    inner: Endless


class Tree(BaseModel):
    """A class whose values may be of any depth."""

    left: Tree | None
    right: Tree | None


class Nothing(Enum):
    """An enum without members."""


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Picky, r"no .*Picky was found that it accepts: it is too small"),
        (Endless, r"a .*Endless always holds another one"),
        (Nothing, r".*Nothing has no members"),
        (Callable[[int], int], r"nothing says how a collections\.abc\.Callable is made"),
    ],
)
def test_a_class_of_which_no_value_is_found_is_named(made: Any, words: str) -> None:
    with pytest.raises(Unmeetable, match=words):
        python_value(made, (), np.random.default_rng(0))


def test_a_class_that_may_hold_itself_comes_to_an_end() -> None:
    for seed in range(50):
        assert isinstance(python_value(Tree, (), np.random.default_rng(seed)), Tree)
