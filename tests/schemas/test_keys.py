"""Which row is which: keys, keys that repeat, and rows in words."""

import uuid
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from jaxtyping import Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Group, Key, Meta, Name, NonTensor, SchemaSpec
from batchpact.schemas.keys import RowNames, key_fields, repeated_key, row_keys, shown_key
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import sentence

from .support import jagged, objects, stores


class Keyed(BatchSchema):
    uid: Annotated[NonTensor[str], Key()] | None = None
    source: Annotated[NonTensor[str], Group()] | None = None


class Turns(BatchSchema):
    """Two fields say together which row is which."""

    uid: Annotated[NonTensor[str], Key()]
    turn: Annotated[Int64[Tensor, "batch"], Name("__turn__"), Key()]


class Grouped(BatchSchema):
    uid: Annotated[NonTensor[Any], Group()]


KEYED, TURNS, GROUPED = (schema.__batchpact__.spec for schema in (Keyed, Turns, Grouped))


def turns(uids: str, numbers: list[int]) -> Stores:
    return stores({"__turn__": torch.tensor(numbers)}, {"uid": objects(*uids)})


def said(spec: SchemaSpec, batch: Stores, pads: Any = None) -> str | None:
    found = repeated_key(spec, batch, pads)
    return None if found is None else f"{found.code} {found.field} {sentence(found)}"


# --- the keys ---------------------------------------------------------------------------------------------------------


def test_the_key_fields_of_a_schema_stand_in_the_order_of_declaration() -> None:
    assert [field.key for field in key_fields(TURNS)] == ["uid", "__turn__"]
    assert [field.key for field in key_fields(KEYED)] == ["uid"]
    assert key_fields(GROUPED) == []


def test_the_keys_of_rows_are_plain_values() -> None:
    keys = row_keys(key_fields(TURNS), turns("aab", [0, 1, 0]))

    assert keys == [("a", 0), ("a", 1), ("b", 0)]
    assert {type(cell) for key in keys or () for cell in key} == {str, int}


@pytest.mark.parametrize(
    "column",
    [np.array([3, 1], dtype=np.int32), torch.tensor([3, 1]), objects(3, 1)],
    ids=["numbers", "tensor", "objects"],
)
def test_a_key_may_stand_in_every_kind_of_field_with_rows(column: Any) -> None:
    class Reads(BatchSchema):
        x: Annotated[Int64[Tensor, "batch"] | NonTensor[int], Key()]

    is_tensor = isinstance(column, Tensor)
    batch = stores({"x": column} if is_tensor else {}, {} if is_tensor else {"x": column})
    assert row_keys(key_fields(Reads.__batchpact__.spec), batch) == [(3,), (1,)]


def test_the_key_of_a_tensor_with_a_graph_is_read() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    assert row_keys(key_fields(KEYED), stores({"uid": x})) == [(1.0,), (2.0,)]


@pytest.mark.parametrize(
    "batch",
    [
        stores({"__turn__": torch.tensor([0, 1])}),
        stores(columns={"uid": objects("a", "b")}),
        stores({"__turn__": torch.tensor([0, 1, 2])}, {"uid": objects("a", "b")}),
        stores({"__turn__": torch.zeros(2, 1)}, {"uid": objects("a", "b")}),
        stores({"__turn__": jagged(1, 2)}, {"uid": objects("a", "b")}),
        stores({"__turn__": torch.tensor([0, 1])}, {"uid": np.array([["a"], ["b"]])}),
        stores({"__turn__": torch.tensor([0, 1])}, meta={"uid": ["a", "b"]}),
    ],
    ids=["no column", "no tensor", "other rows", "two axes", "jagged", "a column of two axes", "in meta"],
)
def test_rows_have_no_key_where_a_field_of_it_is_not_there(batch: Stores) -> None:
    assert row_keys(key_fields(TURNS), batch) is None
    assert repeated_key(TURNS, batch) is None


def test_rows_have_no_key_where_nothing_is_one() -> None:
    batch = stores(columns={"uid": objects("a", "a")})

    assert row_keys([], batch) is None
    assert repeated_key(GROUPED, batch) is None


# --- keys that repeat -------------------------------------------------------------------------------------------------


def test_keys_that_differ_are_right() -> None:
    assert said(KEYED, stores(columns={"uid": objects("a", "b", "c")})) is None
    assert said(TURNS, turns("aab", [0, 1, 0])) is None
    assert said(KEYED, stores(columns={"uid": objects()})) is None


def test_a_key_that_repeats_is_named_with_its_rows() -> None:
    assert said(KEYED, stores(columns={"uid": objects("b", "a", "c", "a")})) == (
        "BP023 uid 'a' in rows 1, 3; one row for one key; where rows may be copies of one another, it is a Group()"
    )


def test_keys_that_repeat_are_counted_after_the_first() -> None:
    hint = "one row for one key; where rows may be copies of one another, it is a Group()"

    assert said(KEYED, stores(columns={"uid": objects(*"ababaaa")})) == (
        f"BP023 uid 'a' in rows 0, 2, 4 and 2 more, and 1 other key like it; {hint}"
    )
    assert said(KEYED, stores(columns={"uid": objects(*"abcabc")})) == (
        f"BP023 uid 'a' in rows 0, 3, and 2 other keys like it; {hint}"
    )


def test_a_key_of_two_fields_repeats_where_both_do() -> None:
    assert said(TURNS, turns("abab", [0, 0, 1, 0])) == (
        "BP023 uid, __turn__ ('b', 0) in rows 1, 3; one row for one key; "
        "where rows may be copies of one another, it is a Group()"
    )


def test_pad_rows_are_copies_and_do_not_count() -> None:
    batch = stores(columns={"uid": objects("a", "b", "a", "a")})

    assert said(KEYED, batch, np.array([False, False, True, True])) is None
    assert said(KEYED, batch, np.array([False, False, False, True])) == (
        "BP023 uid 'a' in rows 0, 2; one row for one key; where rows may be copies of one another, it is a Group()"
    )


def test_a_cell_that_cannot_be_compared_is_no_key() -> None:
    class Reads(BatchSchema):
        uid: Annotated[NonTensor[str], Key()]
        tags: Annotated[NonTensor[Any], Key()]

    batch = stores(columns={"uid": objects("a", "b"), "tags": objects("x", ["y"])})

    assert said(Reads.__batchpact__.spec, batch) == (
        "BP023 uid, tags ('b', ['y']) in row 1 cannot be a key; a key is a text or a number"
    )
    assert said(Reads.__batchpact__.spec, batch, np.array([False, True])) is None


# --- in words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (("a",), "'a'"),
        (("a", 0, None), "('a', 0, None)"),
        ((np.str_("a"), np.int64(3)), "('a', 3)"),
        ((str(uuid.UUID(int=5)),), "'00000000-0000-0000-0000-000000000005'"),
        (("x" * 39,), f"'{'x' * 36}..."),
        ((np.zeros((2, 2)),), "array([[0., 0.],        [0., 0.]])"),
    ],
    ids=str,
)
def test_a_key_is_shown_in_one_short_line(key: Any, text: str) -> None:
    assert shown_key(key) == text


def test_rows_are_named_by_their_key() -> None:
    named = RowNames(KEYED, stores(columns={"uid": objects(*"abcdef"), "source": objects(*"xxxyyy")}))

    assert named([3]) == "row 3 (uid 'd')"
    assert named([0, 4, 5]) == "rows 0 (uid 'a'), 4 (uid 'e'), 5 (uid 'f')"
    assert named([0, 2, 3, 4, 5]) == "rows 0 (uid 'a'), 2 (uid 'c'), 3 (uid 'd') and 2 more"


def test_rows_are_named_by_all_fields_of_their_key() -> None:
    assert RowNames(TURNS, turns("ab", [7, 8]))([1]) == "row 1 (uid, __turn__ ('b', 8))"


def test_rows_are_named_by_their_group_where_they_have_no_key() -> None:
    assert RowNames(GROUPED, stores(columns={"uid": objects("a", "a")}))([1]) == "row 1 (uid 'a')"
    assert RowNames(KEYED, stores(columns={"source": objects("x", "y")}))([1]) == "row 1 (source 'y')"


def test_a_group_may_be_anything() -> None:
    assert (
        RowNames(GROUPED, stores(columns={"uid": objects(["a"], None)}))([0, 1]) == "rows 0 (uid ['a']), 1 (uid None)"
    )


def test_rows_are_numbers_where_nothing_names_them() -> None:
    class Plain(BatchSchema):
        step: Meta[int]

    assert RowNames(Plain.__batchpact__.spec, stores(columns={"uid": objects("a")}))([0]) == "row 0"
    assert RowNames(KEYED, stores())([0, 1, 2, 3, 4]) == "rows 0, 1, 2 and 2 more"
