"""Two versions of one project: each a file that is imported as the module `trainer`."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from batchpact.contracts import registry
from batchpact.contracts.lock.collect import collect
from batchpact.contracts.lock.file import Contracts


def contracts_of(source: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Contracts:
    """The contracts of a version, told from its source; nothing of another version is known."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trainer.py").write_text(dedent(source), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(registry, "_stages", {})
        patch.setattr(sys, "path", [str(folder), *sys.path])
        patch.delitem(sys.modules, "trainer", raising=False)
        patch.setattr(sys, "dont_write_bytecode", True)
        try:
            return collect(["trainer"])
        finally:
            sys.modules.pop("trainer", None)
