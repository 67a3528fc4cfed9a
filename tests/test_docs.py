"""The Python blocks of the documentation run, one page in one namespace."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
WITH_PEERS = re.compile(r"^```python(?: queue| verl)?\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)  # what needs one, too


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.name)
def test_every_block_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(f"page_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for source in blocks(page, BLOCK):
        exec(compile(source, str(page), "exec"), module.__dict__)


def blocks(page: Path, fence: re.Pattern[str]) -> Iterator[str]:
    """The code of a page; with the page's line numbers, so that a failure points into it."""
    text = page.read_text()
    for block in fence.finditer(text):
        yield "\n" * text.count("\n", 0, block.start(1)) + block.group(1)


@pytest.mark.peers
@pytest.mark.ray
@pytest.mark.parametrize(
    ("name", "peer"),
    [("streaming", "transfer_queue"), ("transfer-queue", "transfer_queue"), ("first-verl-contract", "verl")],
)
def test_a_peer_does_what_the_page_says(name: str, peer: str, tmp_path: Path) -> None:
    """In a process of its own, as a page may start Ray and a queue."""
    pytest.importorskip(peer)
    script = tmp_path / "page.py"
    script.write_text("".join(block.lstrip("\n") for block in blocks(ROOT / "docs" / f"{name}.md", WITH_PEERS)))
    path = os.pathsep.join(filter(None, sys.path))

    run = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-4000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
