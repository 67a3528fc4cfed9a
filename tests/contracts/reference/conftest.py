"""Fixtures of the tests that open the page to explore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from batchpact.contracts.reference.page import page
from tests.contracts.reference.explored import explored

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.contracts.reference.browser import Opened


@pytest.fixture(scope="module")
def explored_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a small project."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(page(explored(), "A small project"), encoding="utf-8")
    return file


@pytest.fixture
def opened(browser: Browser, explored_file: Path) -> Iterator[Opened]:
    """The page of a small project in a wide, light window; closed, it must not have complained nor asked anybody."""
    from tests.contracts.reference.browser import Opened

    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", offline=True)
    opened = Opened(context, explored_file)
    yield opened
    context.close()
    assert opened.problems == []
    assert opened.outside() == []
