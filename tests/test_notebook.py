"""The notebook of the docs runs, and shows what its cells print."""

from __future__ import annotations

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient")  # not in .venv-peers
pytest.importorskip("ipykernel")

import nbformat
from nbclient import NotebookClient

from tests.test_docs import commands_in, environment

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "docs" / "tour.ipynb"


@pytest.mark.slow
def test_the_notebook_shows_what_its_cells_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BATCHPACT_GOLDEN=write stores what they show."""
    stored = nbformat.read(NOTEBOOK, as_version=4)
    run = deepcopy(stored)
    commands_in(tmp_path / "bin")
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    settings = {"PATH": path, "COLUMNS": "200", "NO_COLOR": "1", "IPYTHONDIR": str(tmp_path / "ipython")}
    for name, value in {**environment(), **settings}.items():
        monkeypatch.setenv(name, value)

    client = NotebookClient(run, timeout=120, kernel_name="python3", record_timing=False, coalesce_streams=True)
    client.execute(cwd=str(tmp_path))

    for output in (output for cell in run.cells for output in cell.get("outputs", ())):
        if output.output_type == "stream":
            output.text = output.text.replace("\r\n", "\n")  # commands print to a terminal
    if os.environ.get("BATCHPACT_GOLDEN") == "write":
        run.metadata.language_info = {"name": "python"}  # not the version that ran it
        nbformat.write(run, NOTEBOOK)  # type: ignore[no-untyped-call]
        return
    assert outputs(run) == outputs(stored)
    assert (tmp_path / "grpo.html").exists()


def outputs(notebook: Any) -> list[list[tuple[str, tuple[str, ...]]]]:
    """The text of each output, and in which forms it is there: sizes in HTML and places in SVG differ by versions."""
    return [[shown(output) for output in cell.get("outputs", ())] for cell in notebook.cells]


def shown(output: Any) -> tuple[str, tuple[str, ...]]:
    if output.output_type == "stream":
        return output.text, (output.name,)
    return output.data["text/plain"], tuple(sorted(output.data))
