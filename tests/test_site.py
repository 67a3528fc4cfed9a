"""The docs site: every page is in its navigation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


class Loader(yaml.SafeLoader):
    """The settings name functions of their extensions by a tag, which nobody calls here."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/name:", lambda loader, suffix, node: suffix)
SITE: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


def pages(nav: object) -> Iterator[str]:
    """The pages in a part of the navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from pages(list(nav.values()))
    elif isinstance(nav, list):
        for part in nav:
            yield from pages(part)


def test_every_page_is_in_the_navigation_once() -> None:
    there = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))

    assert sorted(pages(SITE["nav"])) == there
