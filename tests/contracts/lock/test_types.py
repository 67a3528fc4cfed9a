"""Types by their names: which values one admits beside another."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from batchpact.contracts.lock.relation import Relation
from batchpact.contracts.lock.types import type_admits, types_relation
from batchpact.schemas.annotations import type_name
from batchpact.schemas.python_types import mismatch


@pytest.mark.parametrize(
    ("wanted", "written"),
    [
        ("str", "str"),
        ("float", "int"),
        ("Any", "dict[str, int]"),
        ("object", "str | None"),
        ("str | None", "None"),
        ("int | str", "str | int"),
        ("float | str", "int | str"),
        ("list", "list[int]"),
        ("list[float]", "list[int]"),
        ("dict[str, float | None]", "dict[str, int]"),
        ("dict[str, list[Any]]", "dict[str, list[str]]"),
        ("tuple[float, ...]", "tuple[int, ...]"),
        ("str", "Literal['a', 'b']"),
        ("Literal['a', 'b']", "Literal['b']"),
        ("int | bool", "Literal[1, True]"),
        ("float", "Literal[-1]"),
        ("bool", "Literal[False, True]"),
        ("list[Literal['a, b', ']', '|']]", "list[Literal['|', ']']]"),
        ("trainer.Sample | None", "trainer.Sample"),
    ],
)
def test_what_is_admitted(wanted: str, written: str) -> None:
    assert type_admits(wanted, written)


@pytest.mark.parametrize(
    ("wanted", "written"),
    [
        ("str", "int"),
        ("int", "float"),
        ("int", "bool"),
        ("str", "str | None"),
        ("list[int]", "list"),
        ("list[int]", "list[float]"),
        ("tuple[int, ...]", "tuple[int, int]"),
        ("tuple[int]", "tuple[int, int]"),
        ("Literal['a']", "str"),
        ("Literal['a']", "Literal['a', 'b']"),
        ("str", "Literal['a', 1]"),
        ("bool", "Literal[1]"),
        ("int", "Literal[True]"),
        ("int", "Literal[False]"),
        ("trainer.Sample", "trainer.Other"),
        ("trainer.Box[float]", "trainer.Box[int]"),
    ],
)
def test_what_is_not_admitted(wanted: str, written: str) -> None:
    assert not type_admits(wanted, written)


def test_a_string_with_quotes_and_bars_is_one_literal() -> None:
    assert type_admits("str", type_name(Literal['it\'s | a [test], \\ "quoted"']))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("int | str", "str | int", Relation.SAME),
        ("int", "int | None", Relation.WIDER),
        ("float", "int", Relation.NARROWER),
        ("str", "int", Relation.REPLACED),
        ("int | str", "int | None", Relation.REPLACED),
    ],
)
def test_how_two_types_stand_to_each_other(old: str, new: str, expected: Relation) -> None:
    assert types_relation(old, new) is expected


TYPES: list[Any] = [
    bool,
    int,
    float,
    str,
    int | str,
    str | None,
    Any,
    Literal["a", "b"],
    Literal["a"],
    Literal[1, True],
    list,
    list[int],
    list[float],
    list[str | None],
    dict[str, int],
    dict[str, float],
    tuple[int, ...],
    tuple[int, str],
]
VALUES: list[object] = [
    True,
    0,
    1,
    2.5,
    "a",
    "c",
    None,
    [],
    [1],
    [1.5],
    ["a", None],
    {},
    {"a": 1},
    {"a": 1.5},
    (),
    (1, 2),
    (1, "a"),
]


@pytest.mark.parametrize("wanted", TYPES, ids=type_name)
@pytest.mark.parametrize("written", TYPES, ids=type_name)
def test_a_type_that_admits_another_admits_its_values(wanted: object, written: object) -> None:
    """What is said about names holds for what the boundary does at level `values`."""
    if type_admits(type_name(wanted), type_name(written)):
        admitted = [value for value in VALUES if mismatch(written, value) is None]

        assert [value for value in admitted if mismatch(wanted, value) is not None] == []
