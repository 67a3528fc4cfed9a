"""What the page to explore costs: to make it, and to search it in a real browser, at 300 stages and 3,000 fields."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page

from batchpact.contracts.reference.page import page as page_of
from batchpact.contracts.reference.project import Project
from tests.contracts.reference.browser import TYPE, Opened
from tests.contracts.reference.browser import browser as browser  # a fixture
from tests.contracts.reference.large import large

pytestmark = [pytest.mark.bench, pytest.mark.benchmark(group="The page to explore, 300 stages and 3,000 fields")]


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    file = tmp_path_factory.mktemp("large") / "large.html"
    file.write_text(page_of(Project(large()), "A large project"), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    yield Opened(context, file).go()
    context.close()


def test_make(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info |= {"what": "prove the pipeline and make its page", "goal": "< 5 s"}

    assert benchmark.pedantic(lambda: page_of(Project(large())), rounds=3)


@pytest.mark.parametrize("text", ["s", "stage_2", "stage_250_field_07", "known of a sample"])
def test_search(benchmark: BenchmarkFixture, opened: Page, text: str) -> None:
    """Measured by the browser's own clock, results laid out; the bare benchmark has the way there and back, too."""
    inside = [opened.evaluate(TYPE, text) for _ in range(20)]
    told = f"{median(inside):.1f} ms inside, {max(inside):.1f} ms at most"
    benchmark.extra_info |= {"what": f"search for {text!r} ({told})", "goal": "< 100 ms"}

    benchmark(opened.evaluate, TYPE, text)
    assert opened.locator("#results .hit").count() > 0
