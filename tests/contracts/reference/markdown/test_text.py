"""Parts of a page."""

from __future__ import annotations

from batchpact.contracts.reference.markdown.text import MARK, heading, page, table


def test_a_page_has_its_mark_its_title_and_no_empty_lines_beside_each_other() -> None:
    assert page("a_b", ["", "", "text  ", "", "", "more"]) == f"{MARK}\n\n# a\\_b\n\ntext\n\nmore\n"


def test_an_anchor_stands_above_its_heading() -> None:
    assert list(heading(2, "__x__", "field-__x__")) == ["", '<a id="field-__x__"></a>', "", "## \\_\\_x\\_\\_", ""]


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    rows = [("a", "", "1"), ("b", "", "")]

    assert list(table(("x", "y", "z"), rows)) == ["", "| x | z |", "| --- | --- |", "| a | 1 |", "| b |  |", ""]
    assert list(table(("x", "y"), [])) == []
