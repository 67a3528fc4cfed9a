"""Violations in words."""

import pytest

from batchpact.schemas.text import count, join_names, listed, listed_rows, quoted, render, sentence
from batchpact.schemas.violations import DimSizes, Violation


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d, e and f"),
        (["a", "b", "c", "d", "e", "f", "g", "h"], "a, b, c, d, e, f and 2 more"),
    ],
)
def test_names_are_listed_and_long_lists_are_cut_with_their_count(names: list[str], text: str) -> None:
    assert join_names(names) == text


def test_names_are_quoted() -> None:
    assert quoted(name for name in ("a", "b", "c")) == "'a', 'b' and 'c'"
    assert quoted(f"n{at}" for at in range(9)) == "'n0', 'n1', 'n2', 'n3', 'n4', 'n5' and 3 more"


def test_items_are_listed_by_the_name_that_they_are_given() -> None:
    assert listed([]) == ""
    assert listed([0, 4, 7]) == "0, 4, 7"
    assert listed([0, 4, 7], 2) == "0, 4 and 1 more"
    assert listed([0, 4, 7], 2, hex) == "0x0, 0x4 and 1 more"


def test_rows_are_listed_by_their_number_or_by_name() -> None:
    assert listed_rows([3]) == "row 3"
    assert listed_rows([0, 4, 7]) == "rows 0, 4, 7"
    assert listed_rows([0, 4, 7, 8, 9]) == "rows 0, 4, 7 and 2 more"
    assert listed_rows([0, 4, 7, 8], "abcdefgh".__getitem__) == "rows a, e, h and 1 more"


def test_one_is_singular() -> None:
    assert [count(number, "row") for number in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def test_a_sentence_puts_what_is_there_and_what_is_declared_into_the_form_of_the_code() -> None:
    wrong = Violation(code="BP005", field="scores", actual="f64", expected="f32")

    assert sentence(wrong) == "f64, declared f32"
    assert sentence(wrong.model_copy(update={"hint": "cast it"})) == "f64, declared f32; cast it"


def test_an_empty_part_leaves_no_semicolon() -> None:
    assert sentence(Violation(code="BP051", field="rows", actual="a tuple")) == "a tuple"
    assert sentence(Violation(code="BP051", field="rows", expected="a string", hint="a comma?")) == "a string; a comma?"


def test_braces_in_a_text_stay_as_they_are() -> None:
    assert sentence(Violation(code="BP051", field="x", actual="{actual} {n}")) == "{actual} {n}"


def test_a_message_lists_every_problem_in_aligned_columns_and_the_dims() -> None:
    violations = [
        Violation(code="BP001", field="uid", expected="non-tensor str", hint="no name in the batch is close"),
        Violation(code="BP012", field="response_mask", actual="i64[2, 3]", expected='"batch response"'),
    ]
    dims = [
        DimSizes(name="batch", sizes=((2, ("scores", "response_mask")),)),
        DimSizes(name="response", sizes=((4, ("scores",)), (3, ("response_mask",)))),
    ]

    assert render("in the test", violations, dims) == (
        "2 problems in the test\n"
        "\n"
        "  BP001 missing  uid            declared non-tensor str; no name in the batch is close\n"
        '  BP012 shape    response_mask  i64[2, 3], declared "batch response"\n'
        "\n"
        "  dims  batch=2 (scores, response_mask)  response=4 (scores) 3 (response_mask)"
    )


def test_one_problem_is_singular_and_no_line_ends_in_a_blank() -> None:
    assert render("in the test", [Violation(code="BP051", field="rows")]) == (
        "1 problem in the test\n\n  BP051 declared  rows"
    )


def test_beyond_forty_problems_the_rest_is_counted() -> None:
    violations = [Violation(code="BP005", field=f"f{at}", actual="f64", expected="f32") for at in range(47)]
    lines = render("in the test", violations).splitlines()

    assert lines[0] == "47 problems in the test"
    assert lines[-2:] == ["  BP005 dtype  f39  f64, declared f32", "  ... and 7 more"]
    assert len(lines) == 2 + 40 + 1


def test_the_fields_of_a_dim_are_cut_with_their_count() -> None:
    sizes = DimSizes(name="batch", sizes=((2, tuple(f"f{at}" for at in range(8))),))

    assert render("here", [], [sizes]).splitlines()[-1] == "  dims  batch=2 (f0, f1, f2, f3, f4, f5 and 2 more)"
