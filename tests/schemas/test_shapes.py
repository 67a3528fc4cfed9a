"""The shape language, part by part, and every way in which a part can be wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchpact.schemas.expressions import Expression
from batchpact.schemas.shapes import Dim, ShapeSyntaxError, parse_dims


def test_a_name_is_an_axis_with_that_name() -> None:
    assert parse_dims("batch response_2") == (
        Dim("batch", "name", name="batch"),
        Dim("response_2", "name", name="response_2"),
    )


def test_a_number_is_a_fixed_size_and_may_have_a_label() -> None:
    assert parse_dims("4 chan=3") == (Dim("4", "fixed", size=4), Dim("chan=3", "fixed", name="chan", size=3))


def test_arithmetic_without_names_is_a_fixed_size() -> None:
    assert parse_dims("2*(3+1) 7//2 5-5") == (
        Dim("2*(3+1)", "fixed", size=8),
        Dim("7//2", "fixed", size=3),
        Dim("5-5", "fixed", size=0),
    )


@pytest.mark.parametrize("text", ["_", "_width", "__"])
def test_an_underscore_is_an_axis_of_any_size(text: str) -> None:
    assert parse_dims(text) == (Dim(text, "any"),)


def test_dots_are_any_number_of_axes_and_a_star_names_them() -> None:
    assert parse_dims("batch ...")[1] == Dim("...", "many")
    assert parse_dims("batch *inner")[1] == Dim("*inner", "many", name="inner")


def test_arithmetic_over_names_is_an_expression() -> None:
    prompt, response = Expression.name("prompt"), Expression.name("response")

    assert parse_dims("prompt+response") == (Dim("prompt+response", "expression", expression=prompt + response),)


def test_dims_are_separated_by_any_white_space() -> None:
    assert parse_dims("  batch \t response\n") == parse_dims("batch response")
    assert parse_dims("   ") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("batch", Expression.name("batch")),
        ("chan=3", Expression.constant(3)),
        ("a+1", Expression.name("a") + Expression.constant(1)),
        ("_", None),
        ("...", None),
        ("*inner", None),
    ],
)
def test_an_axis_is_arithmetic_unless_any_size_is_allowed(text: str, expected: Expression | None) -> None:
    (dim,) = parse_dims(text)

    assert dim.as_expression() == expected


WRONG = {
    # spelling that only jaxtyping has
    "#batch": "'#batch' is not supported: '#' allows broadcasting; a contract wants the exact size",
    "?batch": "'?batch' is not supported: '?' lets a size differ between leaves; a batch has one size for each name",
    "{n}": "'{n}' is not supported: braces are filled in by jaxtyping at run time; name the dim and bind it with a "
    "meta field or an argument",
    # slips
    "batch,": "'batch,' has a comma: dims are separated by spaces alone",
    "*": "'*': write '...' for any number of unnamed axes",
    "*_": "'*_': write '...' for any number of unnamed axes",
    "*1": "'*1': '1' is not a name",
    "*a+1": "'*a+1': 'a+1' is not a name",
    "... *inner": "'... *inner' has 2 parts for any number of axes (... and *inner); keep one",
    # labels
    "chan=c": "'chan=c': a label takes a number, as in 'chan=4'",
    "chan=": "'chan=': a label takes a number, as in 'chan=4'",
    "chan=-1": "'chan=-1': a label takes a number, as in 'chan=4'",
    "=x": "'=x': a label takes a number, as in 'channels=4'",
    "=4": "'=4': '' is not a name",
    "1=4": "'1=4': '1' is not a name",
    # arithmetic
    "a+": "'a+': it ends too early",
    "a+*b": "'a+*b': '*' is not expected there",
    "a**2": "'a**2': '*' is not expected there",
    "+a": "'+a': '+' is not expected there",
    "2a": "'2a': 'a' is not expected there",
    "a+_b": "'a+_b': '_b' is not expected there",
    "_a+1": "'_a+1': '_a' is not expected there",
    "(a+b": "'(a+b': a closing ')' is missing",
    "a)": "'a)': ')' is not expected there",
    "()": "'()': ')' is not expected there",
    "a/2": "'a/2': '/' has no meaning in a dim; + - * // and ( ) do",
    "a.b": "'a.b': '.' has no meaning in a dim; + - * // and ( ) do",
    "__import__('os')": '"__import__(\'os\')": "\'" has no meaning in a dim; + - * // and ( ) do',
    "größe": "'größe': 'ö' has no meaning in a dim; + - * // and ( ) do",
    # sizes that are none
    "2-3": "'2-3' is no size",
    "-1": "'-1' is no size",
    "4//0": "'4//0' is no size",
    "²": "'²': '²' has no meaning in a dim; + - * // and ( ) do",
    "chan=²": "'chan=²': a label takes a number, as in 'chan=4'",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_dim_is_named_with_what_to_write(text: str) -> None:
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_dims(text)

    assert str(caught.value) == WRONG[text]


def test_a_wrong_dim_is_named_alone_among_right_ones() -> None:
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_dims("batch a+ response")

    assert str(caught.value) == "'a+': it ends too early"


@settings(deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="ab_ 01²٣+-*/()=.,#?{}", max_size=30))
def test_any_text_is_read_or_refused_with_a_message(text: str) -> None:
    try:
        dims = parse_dims(text)
    except ShapeSyntaxError as error:
        assert str(error)
    else:
        assert [dim.text for dim in dims] == text.split()
