"""A real Chromium in which the page is opened as a file, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def chromium() -> str:
    """Where Chromium is; a test that finds none fails, as it cannot say that the page works."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("there is no Chromium on the PATH: apt-get install chromium (Debian), or your system's package")
    return found


TYPE = """text => {
    const input = document.getElementById("search");
    input.focus();
    const began = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input"));
    document.getElementById("results").getBoundingClientRect();  // laid out, too
    return performance.now() - began;
}"""
"""In JavaScript: milliseconds from the text in the field to the list of results."""


FAINT = """() => {
    const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
    const parsed = (text) => (numbers(text).length < 4 ? [...numbers(text), 1] : numbers(text));
    const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
    const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    const above = (element) => element ? [...above(element.parentElement), getComputedStyle(element)] : [];
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const text = texts.currentNode.data.trim();
        if (!text || !element.getClientRects().length || element.closest("svg, script, style, .unseen")) continue;
        const styles = above(element);
        const ground = styles.reduce((below, style) => over(parsed(style.backgroundColor), below), [255, 255, 255]);
        const ink = parsed(styles.at(-1).color);
        ink[3] *= styles.reduce((opacity, style) => opacity * style.opacity, 1);
        const [light, dark] = [luminance(over(ink, ground)), luminance(ground)].sort((one, other) => other - one);
        if ((light + 0.05) / (dark + 0.05) < (element.matches("[aria-hidden], .sign") ? 3 : 4.5)) found.push(text);
    }
    return found;
}"""
"""In JavaScript: the texts that have too little contrast."""


# Of a module, not of the session: while Playwright runs, this thread has an event loop, and tests that bring their own
# cannot run.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        yield launched
        launched.close()


class Opened:
    """The page, opened in a window of its own; it notes what must not happen."""

    def __init__(self, context: BrowserContext, file: Path) -> None:
        self._file = file
        self.page: Page = context.new_page()
        self.page.set_default_timeout(5000)
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def go(self, state: str = "") -> Page:
        """Open a state of the page, anew."""
        self.page.goto("about:blank")
        self.page.goto(f"{self._file.as_uri()}{state}")
        return self.page

    def outside(self) -> list[str]:
        """What was asked of anybody but the file itself."""
        own = self._file.as_uri()
        return [url for url in self.requests if url != "about:blank" and url.partition("#")[0] != own]
