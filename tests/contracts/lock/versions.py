"""Two versions of one project: each a file that is imported as the module `trainer`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from batchpact.contracts import registry
from batchpact.contracts.lock.collect import collect
from batchpact.contracts.lock.file import Contracts


def contracts_of(source: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Contracts:
    """The contracts of a version, told from its source; nothing of another version is known."""
    with importable(source, monkeypatch, folder):
        return collect(["trainer"])


def module_of(source: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> ModuleType:
    """A version as the module that it is."""
    with importable(source, monkeypatch, folder):
        return importlib.import_module("trainer")


@contextmanager
def importable(source: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """In the block this source, and no other, is the module `trainer`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trainer.py").write_text(dedent(source), encoding="utf-8")
    importlib.invalidate_caches()
    with monkeypatch.context() as patch:
        patch.setattr(registry, "_stages", {})
        patch.setattr(sys, "path", [str(folder), *sys.path])
        patch.delitem(sys.modules, "trainer", raising=False)
        patch.setattr(sys, "dont_write_bytecode", True)
        try:
            yield
        finally:
            sys.modules.pop("trainer", None)
