"""How values begin, in one line that prints; no tensor among them is read."""

from __future__ import annotations

from collections import OrderedDict
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from batchpact.dataproto import column
from batchpact.dataproto.preview import first_cells, one_line, preview
from tests.dataproto.support import jagged


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("ids", "ids"),
        ("x" * 60, "x" * 60),
        ("x" * 61, f"{'x' * 57}..."),
        ("é漢", "é漢"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\n" * 60, f"{chr(92)}n" * 28 + "\\..."),
    ],
)
def test_a_text_is_cut_and_every_character_of_it_prints(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_a_text_can_be_cut_shorter() -> None:
    assert one_line("abcdef", 5) == "ab..."


class Colour(IntEnum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


class Config:
    def __repr__(self) -> str:
        raise AssertionError("nobody asked for it")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "'text'"),
        ("it's\n", '"it\'s\\n"'),
        (np.str_("text"), "'text'"),
        (None, "None"),
        (True, "True"),
        (0.5, "0.5"),
        (np.float64(0.5), "0.5"),
        ([], "[]"),
        ([1, "a", None], "[1, 'a', None]"),
        ((1,), "(1)"),
        (Point(1, 2), "(1, 2)"),
        ({1}, "{1}"),
        (list(range(6)), "[0, 1, 2, 3, 4, ...]"),
        ({"a": 1, "b": [2]}, "{'a': 1, 'b': [2]}"),
        (OrderedDict(a=1), "{'a': 1}"),
        ({number: 0 for number in range(6)}, "{0: 0, 1: 0, 2: 0, 3: 0, 4: 0, ...}"),
        ([[[1]]], "[[[1]]]"),
        ([[[[1]]]], "[[[list of 1]]]"),
        (Config(), "Config"),
        ([Config()], "[Config]"),
        (torch.ones(2, 3), "f32[2, 3]"),
        ([jagged([1], [2, 3])], "[i64[2, jagged]]"),
        (np.ones(3, dtype=np.float32), "float32[3]"),
        (b"bytes", "bytes"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_shown_by_its_first_elements(value: Any, text: str) -> None:
    assert preview(value) == text


def test_a_number_with_a_name_is_shown_as_it_prints() -> None:
    assert preview(Colour.RED) == str(Colour.RED)


def test_a_value_of_any_size_is_shown_in_few_words() -> None:
    assert preview("x" * 1_000_000) == f"'{'x' * 200}...'"
    assert len(preview(["x" * 1_000_000] * 1_000_000)) == 400
    assert len(preview({"x" * 1_000_000: {"y" * 1_000_000: 1}})) == 400


def test_a_list_that_holds_itself_is_shown() -> None:
    loop: list[Any] = []
    loop.append(loop)

    assert preview(loop) == "[[[list of 1]]]"


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        (column(["a", [1], None, {"k": 1}, torch.ones(2), "not shown"]), ["'a'", "[1]", "None", "{'k': 1}", "f32[2]"]),
        (np.array([0.0, 0.1], dtype=np.float32), ["0.0", "0.1"]),
        (np.array([True]), ["True"]),
        (np.array(["a", "b"], dtype="U3"), ["'a'", "'b'"]),
        (np.array(["2026-01-02"], dtype="datetime64[D]"), ["2026-01-02"]),
        (np.arange(4).reshape(2, 2), ["[0, 1]", "[2, 3]"]),
        (np.arange(8).reshape(2, 2, 2), ["[[0, 1], [2, 3]]", "[[4, 5], [6, 7]]"]),
        (np.zeros((1, 1000), dtype=np.int64), ["[0, 0, ..., 0, 0]"]),
        (np.zeros(0), []),
        (np.array(1), []),
        (["a list", "is no column"], []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_first_cells_of_a_column_are_shown(values: Any, cells: list[str]) -> None:
    assert first_cells(values) == cells
