"""Statements: the code is read on every way that it can go."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.contracts.lint.support import found, opaque, reading, unasked, undeclared, unset, unused


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('for key in ("z", "x"):\n    data.batch[key]', [undeclared("4:20", "read from batch")]),
        ('for key in ("x", "z"):\n    if key == "x":\n        continue\n    data.batch[key]',
         [undeclared("6:20", "read from batch")]),
        ('for a, b in [("x", "z"), ("x", "x")]:\n    data.batch[a] - data.batch[b]',
         [undeclared("4:36", "read from batch")]),
        ('for key in ():\n    pass\nelse:\n    data.batch["z"]', [undeclared("6:20", "read from batch")]),
        ('while data.batch["z"].any():\n    break\nelse:\n    data.batch["w"]',
         [undeclared("3:22", "read from batch"), undeclared("6:20", "read from batch", "w")]),
        ('last = None\nfor row in data:\n    if last is not None:\n        last.batch["z"]\n    last = row',
         [undeclared("6:24", "read from batch")]),
        ('with torch.no_grad():\n    data.batch["z"]', [undeclared("4:20", "read from batch")]),
        ('with data.batch.unlock_() as td:\n    td["z"]', [undeclared("4:12", "read from batch")]),
        ('assert data.batch["z"].any()', [undeclared("3:23", "read from batch")]),
        ('try:\n    data.batch["z"]\nexcept KeyError as error:\n    print(error, data.batch["w"])',
         [undeclared("4:20", "looked for in batch"), undeclared("6:33", "read from batch", "w")]),
        ('try:\n    pass\nexcept KeyError:\n    raise\nelse:\n    data.batch["z"]\nfinally:\n    data.batch["w"]',
         [undeclared("8:20", "looked for in batch"), undeclared("10:20", "read from batch", "w")]),
        ('match data.batch["z"]:\n    case {"a": value, **rest} if data.batch["v"]:\n        data.batch["w"]\n'
         '    case _:\n        pass',
         [undeclared("3:22", "read from batch"), undeclared("4:49", "read from batch", "v"),
          undeclared("5:24", "read from batch", "w")]),
        ('from batchpact.dataproto import tensordicts as tu\ntu.get(data, "z")', [undeclared("4:18", "looked for")]),
        ('import batchpact.dataproto\nbatchpact.dataproto.tensordicts.get(data, "z")',
         [undeclared("4:47", "looked for")]),
    ],
)  # fmt: skip
def test_names_are_found_in_statements(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(body), tmp_path) == expected


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is new in Python 3.11")
def test_names_are_found_in_exception_groups(tmp_path: Path) -> None:
    body = 'try:\n    pass\nexcept* ValueError:\n    data.batch["z"]'

    assert found(reading(body), tmp_path) == [undeclared("6:20", "read from batch")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # on one way the name was set, on the other it was not
        ("""
            if len(data):
                data.batch["z"] = 1
            else:
                data.batch["z"]
            del data.batch["z"]
         """, [undeclared("6:20", "read from batch")]),
        ("""
            if len(data):
                data.batch["z"] = 1
                del data.batch["z"]
            data.batch["z"]
         """, [undeclared("6:16", "read from batch")]),
        ("""
            if len(data):
                batch = data.batch
            else:
                batch = data.meta_info
            batch["x"]
         """, []),
        ("""
            if len(data):
                key = "z"
            else:
                key = "x"
            data.batch[key]
         """, [undeclared("7:16", "read from batch")]),
        # it may have been set
        ("""
            if len(data):
                data.batch["z"] = 1
            data.batch["z"]
            del data.batch["z"]
         """, []),
        ("""
            for at in range(3):
                if at > 0:
                    data.batch["z"]
                data.batch["z"] = at
            del data.batch["z"]
         """, [undeclared("5:24", "read from batch")]),
        ("""
            try:
                data.batch["z"] = 1
            finally:
                data.batch["z"]
            data.batch.pop("z")
         """, []),
        ("""
            try:
                data.batch["z"] = 1
                raise ValueError
            except ValueError:
                data.batch["z"]
            data.batch.pop("z")
         """, []),
        ("""
            match len(data):
                case 1:
                    data.batch["z"] = 1
                case _:
                    data.batch["z"] = 2
            data.batch["z"]
            del data.batch["z"]
         """, []),
        # the code does not go on here
        ("""
            if len(data) > 3:
                key = "z"
                raise ValueError(key)
            else:
                key = "x"
            data.batch[key]
         """, []),
        ("""
            while True:
                data.batch["z"] = 1
                break
            data.batch["z"]
            del data.batch["z"]
         """, []),
    ],
)  # fmt: skip
def test_a_name_counts_as_set_where_it_may_have_been_set_before(body: str, expected: list[str], tmp_path: Path) -> None:
    assert found(reading(dedent(body)), tmp_path) == expected


def test_what_is_returned_is_what_is_set_where_it_is_returned(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            data.batch["scratch"] = data.batch["x"]
            if len(data) == 1:
                data.batch["z"] = 1
                data.batch["y"] = data.batch.pop("scratch")
                return data
            return DataProto.from_dict({"y": data.batch["scratch"]}), {}
    """
    assert found(source, tmp_path) == [unasked("5:20", "batch")]


def test_what_a_helper_sets_before_any_of_its_returns_is_set(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            return made(data.batch["x"])

        def made(x):
            if len(x):
                tensors = {}
                tensors["y"] = tensors["z"] = x
                return DataProto.from_dict(tensors)
            raise ValueError("no rows")
    """
    assert found(source, tmp_path) == [unasked("8:32", "batch")]


def test_code_after_a_return_does_not_run(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            return DataProto.from_dict({"y": 1})
            data.batch["x"]
    """
    assert found(source, tmp_path) == [unused("2:5", "x")]


def test_a_function_that_ends_without_a_return_returns_none(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            data.batch["y"] = data.batch["x"]
    """
    assert found(source, tmp_path) == [unset("2:5", "y")]


def test_names_of_the_function_around_are_assigned(tmp_path: Path) -> None:
    body = """
        key = "w"
        def choose():
            nonlocal key
            key = "z"
        choose()
        data.batch[key]
    """
    assert found(reading(dedent(body)), tmp_path) == [
        undeclared("8:16", "read from batch", "w"),
        undeclared("8:16", "read from batch"),
    ]


def test_a_context_that_a_generator_makes_gives_what_it_yields(tmp_path: Path) -> None:
    source = """
        import contextlib

        @contextlib.contextmanager
        def halved(data):
            yield data[:2]

        @stage(One)
        def compute(data):
            with halved(data) as half:
                return DataProto.from_dict({"y": half.batch["x"] + half.batch["z"]})
    """
    assert found(source, tmp_path) == [undeclared("10:71", "read from batch")]


def test_a_batch_that_is_kept_in_a_global_may_be_used_anywhere(tmp_path: Path) -> None:
    source = """
        @stage(One)
        def compute(data):
            global kept
            kept = data
            return elsewhere()
    """
    assert found(source, tmp_path, undecidable=True) == [opaque("4:5", "kept in a global")]


def test_very_long_code_is_read_to_its_end(tmp_path: Path) -> None:
    """Loops inside loops are unrolled as long as that is quick."""
    loops = "".join(f"{'    ' * at}for _{at} in (1, 2, 3, 4, 5, 6, 7, 8):\n" for at in range(8))
    body = f"{loops}{'    ' * 8}data.batch['z']\ndata.batch['w']"

    assert found(reading(body), tmp_path) == [
        undeclared("11:48", "read from batch"),
        undeclared("12:16", "read from batch", "w"),
    ]


def test_functions_that_very_long_code_calls_at_its_end_are_not_read(tmp_path: Path) -> None:
    loops = "".join(f"{'    ' * at}for _{at} in (1, 2, 3, 4, 5, 6, 7, 8):\n" for at in range(8))
    source = reading(f"{loops}{'    ' * 8}pass\ntake(data)") + "def take(data):\n    data.batch['z']\n"

    assert found(source, tmp_path, undecidable=True) == [
        opaque("12:5", "given to a function that is too far away to be read")
    ]


def test_code_that_is_nested_too_deep_is_not_read(tmp_path: Path) -> None:
    source = reading(f"data.batch['z'] {'+ 1 ' * 1500}")

    assert found(source, tmp_path) == []
