"""Which name stands for which size, in each of several batches."""

from __future__ import annotations

import torch

from batchpact.contracts.inferring.seen import Seen
from batchpact.contracts.inferring.sizes import Names, agree, sizes_of
from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import parse_dims


def test_the_sizes_of_a_field() -> None:
    seen = Seen("x")
    seen.add(0, "tensor", torch.zeros(2, 3, 4))
    seen.add(2, "tensor", torch.zeros(5, 6, 4))
    seen.add(3, "meta", 1)

    assert [(dim.text, sizes) for dim, sizes in sizes_of(seen, parse_dims("batch a b"))] == [
        ("a", {0: 3, 2: 6}),
        ("b", {0: 4, 2: 4}),
    ]
    assert [dim.text for dim, _ in sizes_of(seen, parse_dims("batch ... b"))] == ["b"]


def test_sizes_agree_where_both_are_known() -> None:
    assert agree({0: 3, 1: 4}, {1: 4, 2: 9})
    assert not agree({0: 3}, {0: 4})


def test_names_and_what_is_alike() -> None:
    names = Names()

    assert names.bind("a", {0: 3}) and names.bind("a", {1: 4}) and not names.bind("a", {1: 5})
    assert names.of("a") == {0: 3, 1: 4}
    assert names.alike({0: 3}) == ["a"] and names.alike({2: 3}) == []


def test_a_sum_binds_the_one_name_that_is_not_known() -> None:
    names, whole = Names(), Expression.name("a") + Expression.name("b")
    names.bind("a", {0: 3, 1: 3})

    assert names.unbound(whole) == ["b"]
    assert names.holds(whole, {0: 7, 1: 8})
    assert names.of("b") == {0: 4, 1: 5}
    assert not names.holds(whole, {0: 8})
    assert not Names().holds(Expression.constant(2) * Expression.name("a"), {0: 3})


def test_nothing_is_left_for_a_name() -> None:
    names = Names()
    names.bind("a", {0: 3})

    assert not names.holds(Expression.name("a") + Expression.name("b"), {0: 3})
