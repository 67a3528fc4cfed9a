"""The pages as a whole: every link of them leads somewhere, as a real parser of Markdown reads them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from batchpact.contracts.reference.markdown.pages import pages
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.large import large
from tests.contracts.reference.small import ODD_KEYS, odd_project, ppo_project

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
PROJECTS = {"ppo": ppo_project(), "odd": odd_project(), "many": Project(large(60, 200))}


def tokens(text: str) -> Iterator[Token]:
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


def anchors(text: str) -> list[str]:
    html = (token.content for token in tokens(text) if token.type in ("html_inline", "html_block"))
    return [name for part in html for name in re.findall(r'<a id="([^"]*)"', part)]


def links(text: str) -> Iterator[str]:
    for token in tokens(text):
        if token.type == "link_open":
            yield str(token.attrs["href"])
        if token.type == "image":
            yield str(token.attrs["src"])


@pytest.fixture(params=PROJECTS)
def made(request: pytest.FixtureRequest) -> dict[str, str]:
    return pages(PROJECTS[request.param])


def test_every_link_leads_to_an_anchor_of_a_page(made: dict[str, str]) -> None:
    known = {path: set(anchors(text)) for path, text in made.items()}
    graphs = {path.removesuffix(".md") + ".svg" for path in made if path.startswith("pipelines/")}
    followed = 0
    for path, text in made.items():
        for link in links(text):
            file, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(file)))
            assert target in known.keys() | graphs, (path, link)
            assert not anchor or unquote(anchor) in known[target], (path, link)
            followed += 1

    assert followed > 200


def test_anchors_are_unique_on_their_page(made: dict[str, str]) -> None:
    for path, text in made.items():
        found = anchors(text)
        assert len(found) == len(set(found)), path


def test_no_page_holds_markup_that_somebody_wrote(made: dict[str, str]) -> None:
    """Text of contracts is printed as it is; what tags there are belong to the pages themselves."""
    ours = re.compile(r"</?(a|details|summary)\b[^>]*>|<!--.*-->")
    for text in made.values():
        for token in tokens(text):
            if token.type in ("html_inline", "html_block"):
                rest = ours.sub("", token.content).strip()
                assert rest in ("", "As Mermaid"), token.content


def test_every_table_has_its_columns(made: dict[str, str]) -> None:
    """A bar that is part of a type or of a text does not begin a new cell."""
    for path, text in made.items():
        rows = [token for token in tokens(text) if token.type in ("tr_open", "th_open", "td_open")]
        widths: list[int] = []
        for token in rows:
            if token.type == "tr_open":
                widths.append(0)
            else:
                widths[-1] += 1
        lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
        bars = [len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines]
        assert widths == bars, path


def test_pages_are_the_same_again_and_name_no_place_of_this_machine(made: dict[str, str]) -> None:
    again = [pages(project) for project in (ppo_project(), odd_project(), Project(large(60, 200)))]

    assert made in again
    assert not any(str(path) in text for text in made.values() for path in ("/work", "/home", "/tmp", __file__))


def test_names_that_are_odd_or_alike_have_pages_and_anchors_of_their_own() -> None:
    made = pages(odd_project())

    assert [path for path in made if path.startswith("pipelines/")] == [
        "pipelines/odd-pipeline-9b8da4.md",
        "pipelines/odd-pipeline.md",
    ]
    found = [name for name in anchors(made["fields.md"]) if name.startswith("field-")]
    assert "field-__num_turns__" in found
    assert len(found) == len(odd_project().fields) >= len(ODD_KEYS)
