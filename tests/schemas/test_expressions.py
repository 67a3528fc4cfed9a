"""`Expression` is integer arithmetic: it is held against arithmetic on a syntax tree that this file builds itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import parse_dims

law = settings(deadline=None)
NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Leaf:
    value: str | int


@dataclass(frozen=True)
class Minus:
    of: Node


@dataclass(frozen=True)
class Binary:
    sign: str
    left: Node
    right: Node


Node: TypeAlias = "Leaf | Minus | Binary"
LEVEL = {"+": 1, "-": 1, "*": 2, "//": 2}


def trees(names: tuple[str, ...], signs: tuple[str, ...] = tuple(LEVEL)) -> st.SearchStrategy[Node]:
    leaves = st.sampled_from(names).map(Leaf) | st.integers(0, 4).map(Leaf)
    return st.recursive(
        leaves, lambda inner: inner.map(Minus) | st.builds(Binary, st.sampled_from(signs), inner, inner), max_leaves=6
    )


nodes = trees(NAMES)
sizes = st.fixed_dictionaries({name: st.integers(0, 7) for name in NAMES})


def written(node: Node, level: int = 0) -> str:
    """The tree as text with no more parentheses than Python needs."""
    if isinstance(node, Leaf):
        return str(node.value)
    if isinstance(node, Minus):
        return f"-{written(node.of, 3)}"
    own = LEVEL[node.sign]
    text = f"{written(node.left, own)}{node.sign}{written(node.right, own + 1)}"
    return f"({text})" if own < level else text


def worth(node: Node, known: Mapping[str, int]) -> int | None:
    """What Python makes of the tree; None where a divisor is zero."""
    if isinstance(node, Leaf):
        return known[node.value] if isinstance(node.value, str) else node.value
    if isinstance(node, Minus):
        inner = worth(node.of, known)
        return None if inner is None else -inner
    left, right = worth(node.left, known), worth(node.right, known)
    if left is None or right is None or (node.sign == "//" and right == 0):
        return None
    return {"+": left + right, "-": left - right, "*": left * right}.get(node.sign, left // right if right else 0)


def parsed(text: str) -> Expression:
    """An expression of any kind: the name in front keeps a constant from being read as a size."""
    expression = parse_dims(f"zero+({text})")[0].expression
    assert expression is not None
    return expression.substitute({"zero": Expression.constant(0)})


@law
@given(nodes, sizes)
def test_an_expression_is_worth_what_python_makes_of_it(node: Node, known: dict[str, int]) -> None:
    expected = worth(node, known)
    value = parsed(written(node)).evaluate(known)

    if expected is not None:  # no divisor is zero
        assert value == expected


@law
@given(nodes, nodes, nodes)
def test_sums_and_products_do_not_depend_on_their_order(x: Node, y: Node, z: Node) -> None:
    a, b, c = parsed(written(x)), parsed(written(y)), parsed(written(z))

    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c


@law
@given(nodes)
def test_what_is_taken_away_again_leaves_nothing(node: Node) -> None:
    expression = parsed(written(node))
    negative = -expression

    assert expression + negative == Expression.constant(0) == Expression(())
    assert -negative == expression


@law
@given(nodes)
def test_an_expression_reads_back_what_it_prints(node: Node) -> None:
    expression = parsed(written(node))

    assert parsed(str(expression)) == expression


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("b+a", "a+b"),
        ("a+a+1", "1+2*a"),
        ("(a+b)*(a-b)", "a*a-b*b"),
        ("-a", "-a"),
        ("a-a", "0"),
        ("(a+1)//2*b", "((1+a)//2)*b"),
        ("2*(a//b)", "2*(a//b)"),
        ("a//b//c", "((a//b)//c)"),
        ("a//-b", "(a//(-b))"),
    ],
)
def test_the_normal_form_in_print(text: str, shown: str) -> None:
    assert str(parsed(text)) == shown


@law
@given(nodes, st.sampled_from(NAMES), nodes, sizes)
def test_a_name_can_be_replaced_by_an_expression(outer: Node, name: str, inner: Node, known: dict[str, int]) -> None:
    value = worth(inner, known)
    expected = None if value is None else worth(outer, {**known, name: value})

    replaced = parsed(written(outer)).substitute({name: parsed(written(inner))})

    if expected is not None:  # no divisor is zero
        assert replaced.evaluate(known) == expected


@law
@given(trees(("b", "c"), ("+", "-", "*")), st.sampled_from([-2, -1, 1, 3]), sizes)
def test_an_isolated_name_follows_from_the_size(rest: Node, factor: int, known: dict[str, int]) -> None:
    node = Binary("+", rest, Binary("*", Leaf(factor), Leaf("a")))
    expression, size = parsed(written(node)), worth(node, known)
    assert size is not None

    assert expression.isolates("a")
    assert expression.solve("a", size, {"b": known["b"], "c": known["c"]}) == known["a"]


@pytest.mark.parametrize(
    ("text", "isolated"),
    [("a+b", True), ("3*a-b", True), ("a*b", False), ("a//2", False), ("a+a*b", False), ("b", False)],
)
def test_a_name_is_isolated_where_it_stands_once_and_plainly(text: str, isolated: bool) -> None:
    assert parsed(text).isolates("a") is isolated


def test_a_name_is_not_solved_where_no_whole_size_fits() -> None:
    assert parsed("2*a+b").solve("a", 9, {"b": 1}) == 4
    assert parsed("2*a+b").solve("a", 8, {"b": 1}) is None, "no half sizes"
    assert parsed("a+b").solve("a", 3, {"b": 5}) is None, "no negative sizes"
    assert parsed("a+b").solve("a", 3, {}) is None, "b is not known"


def test_a_size_is_unknown_where_a_name_or_a_divisor_is_missing() -> None:
    assert parsed("a+b").evaluate({"a": 1}) is None
    assert parsed("a//b").evaluate({"a": 1, "b": 0}) is None
    assert parsed("a//b").evaluate({"b": 2}) is None


@law
@given(trees(NAMES, ("+", "-")), sizes)
def test_the_linear_form_adds_up_to_the_same(node: Node, known: dict[str, int]) -> None:
    linear = parsed(written(node)).linear()
    assert linear is not None
    constant, factors = linear

    assert constant + sum(factor * known[name] for name, factor in factors) == worth(node, known)


@pytest.mark.parametrize(
    ("text", "linear"),
    [("b+2*a-3", (-3, (("a", 2), ("b", 1)))), ("5-5", (0, ())), ("a*b", None), ("a*a", None), ("a//2", None)],
)
def test_an_expression_is_linear_where_no_two_names_meet(text: str, linear: object) -> None:
    assert parsed(text).linear() == linear


def test_each_name_is_listed_as_often_as_it_stands_there() -> None:
    assert sorted(parsed("a*b+a//(b+c)").names()) == ["a", "a", "b", "b", "c"]
