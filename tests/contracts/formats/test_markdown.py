"""Markdown, read by markdown-it."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

from batchpact.contracts.formats.findings import Document
from batchpact.contracts.formats.markdown import as_markdown
from tests.contracts.formats.samples import EMPTY, EVERYTHING, NASTY, nasty

PARSER = MarkdownIt("gfm-like", {"linkify": False})


def headings(found: Document) -> list[str]:
    tokens = PARSER.parse(as_markdown(found))
    return [text(tokens[at + 1]) for at, token in enumerate(tokens) if token.type == "heading_open"]


def rows(found: Document) -> list[list[str]]:
    """The cells of all tables, as a reader sees them."""
    tokens = PARSER.parse(as_markdown(found))
    cells: list[list[str]] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            cells.append([])
        elif token.type in ("th_open", "td_open"):
            cells[-1].append(text(tokens[at + 1]))
    return cells


def text(inline: Token) -> str:
    """What is shown of a text: no emphasis, no code and no link is in it."""
    shown = ""
    for part in inline.children or ():
        assert part.type in ("text", "text_special", "html_inline"), part
        assert part.type != "html_inline" or part.content == "<br>", part
        shown += part.content
    return shown


def test_a_heading_for_each_report() -> None:
    assert headings(EVERYTHING) == [
        "batchpact check",
        "pipeline 'ppo' (2 stages, 3 fields): failed",
        "the declaration of Score: failed",
        "the code against a.json in main (3 changes, 1 of them breaking): failed",
    ]


def test_a_row_for_each_finding_the_worst_first() -> None:
    assert rows(EVERYTHING)[:3] == [
        ["level", "rule", "where", "what"],
        ["error", "BP001 missing", "use: scores<br>trainer/plan.py:12", 'declared f32 "batch"; nobody writes it'],
        ["warning", "BP005 dtype", "x", "f16, declared f32"],
    ]
    assert [row[:2] for row in rows(EVERYTHING)[6:]] == [
        ["error", "field-removed"],
        ["warning", "dtype-widened"],
        ["note", "description-changed"],
    ]


def test_every_sign_arrives_as_it_is_in_one_line() -> None:
    flat = " ".join(NASTY.split())

    assert rows(nasty())[1] == ["error", "BP001 missing", f"{flat}<br>a folder/ö,:%.py:3", flat]
    assert headings(nasty())[1] == f"{flat} ({flat}): failed"


def test_nothing_found() -> None:
    assert as_markdown(EMPTY) == "## batchpact check\n\n### pipeline 'ppo' (1 stage): passed\n"
