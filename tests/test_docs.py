"""The documentation does what it says: Python blocks run, commands print what is shown, links lead somewhere.

```python
    Runs, all blocks of a page in one namespace and in a directory of its own.
```python {peer=verl}
    Needs a peer; runs with the other blocks of its page in a process of its own.
```python title="trainer/stages.py"
    A file (of any language), written where the page has it, for the commands that follow.
```console
    Lines that begin with `$` are commands. What follows one is what it prints; `...` stands for lines left out.

The site reads a fence only in one of these forms, and takes the rest of a page that has another for code.
"""

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
WITH_PEERS = re.compile(r"^```python(?: {peer=\w+})?\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
FENCE = re.compile(r'\w*(?: title="[^"]+"| {peer=\w+})?')
ANY_BLOCK = re.compile(r"^```(?P<fence>[^\n]*)\n(?P<text>.*?)^```", flags=re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'^\w+ title="(.+)"$')
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
LEFT_OUT = re.compile(r"^\.\.\.\n", flags=re.MULTILINE)
BATCHPACT = "from batchpact.contracts.cli import main; main()"


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.name)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
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
    [
        ("README", "verl"),
        ("docs/first-verl-contract", "verl"),
        ("docs/streaming", "transfer_queue"),
        ("docs/transfer-queue", "transfer_queue"),
    ],
)
def test_a_peer_does_what_the_page_says(name: str, peer: str, tmp_path: Path) -> None:
    """In a process of its own, as a page may start Ray and a queue."""
    pytest.importorskip(peer)

    run_blocks(ROOT / f"{name}.md", WITH_PEERS, tmp_path)


def run_blocks(page: Path, fence: re.Pattern[str], folder: Path) -> None:
    """Run the blocks of a page as one program, in a folder."""
    script = folder / "page.py"
    script.write_text("".join(block.lstrip("\n") for block in blocks(page, fence)))
    run = subprocess.run(
        [sys.executable, str(script)],
        env=environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ci-in-ten-minutes", "saving"])
def test_the_commands_of_a_page_print_what_it_shows(name: str, tmp_path: Path) -> None:
    page = ROOT / "docs" / f"{name}.md"
    run_blocks(page, BLOCK, tmp_path)

    follow(page, "console", tmp_path)


@pytest.mark.peers
@pytest.mark.slow
def test_the_commands_about_a_run_of_verl_print_what_the_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("verl")

    follow(ROOT / "docs" / "debugging.md", "console {peer=verl}", tmp_path)


def follow(page: Path, fence: str, folder: Path) -> None:
    """Write the files of a page, and run the commands of its blocks with this fence, in their order."""
    commands_in(folder / "bin")
    commands = 0
    for block in ANY_BLOCK.finditer(page.read_text()):
        title = TITLE.match(block["fence"])
        if title:
            (folder / title[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / title[1]).write_text(block["text"])
        elif block["fence"] == fence:
            for command, shown in COMMAND.findall(block["text"]):
                printed = output(command, folder)
                left = [part for part in LEFT_OUT.split(shown) if part not in printed]
                assert left == [], f"$ {command}\n{printed}"
                commands += 1
    assert commands


def commands_in(folder: Path) -> None:
    """Make a folder that has `batchpact` and `python`, as they are where the package is installed."""
    folder.mkdir()
    for name, arguments in {"batchpact": f"-c '{BATCHPACT}'", "python": ""}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (folder / name).chmod(0o755)


def output(command: str, folder: Path) -> str:
    """What a command prints, with no trailing spaces; its exit code is what it wants."""
    paths = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    run = subprocess.run(
        command,
        shell=True,
        env={**environment(), "PATH": paths, "COLUMNS": "200"},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    return re.sub(r" +$", "", run.stdout, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_has_a_form_that_the_site_reads(page: Path) -> None:
    fences = [block["fence"] for block in ANY_BLOCK.finditer(page.read_text())]
    assert [fence for fence in fences if not FENCE.fullmatch(fence)] == []
