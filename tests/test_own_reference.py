"""The project's own references say what its contracts say: that of the vocabulary, and that of the example."""

from __future__ import annotations

from pathlib import Path

import pytest

from batchpact.contracts.lock.collect import collect
from batchpact.contracts.pyproject import project_targets
from batchpact.contracts.reference.command import reference
from batchpact.contracts.reference.project import Project

ROOT = Path(__file__).parent.parent


def stale(folder: Path, targets: list[str]) -> list[str]:
    """The files that `make docs` would write anew."""
    files = reference(Project(collect(targets)))
    return [path for path, file in files.items() if not file.is_current((folder / path).read_text(encoding="utf-8"))]


@pytest.mark.slow
def test_the_reference_of_the_vocabulary_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert stale(ROOT / "docs/reference", project_targets()) == []


def test_the_reference_of_the_example_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs/examples"))
    assert stale(ROOT / "docs/examples/grpo_arithmetic/reference", ["grpo_arithmetic.pipeline"]) == []
