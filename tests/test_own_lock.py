"""The project locks its own vocabulary: `docs/batchpact.lock.json` says what both folders called `rl` declare."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import batchpact.schemas.rl
from batchpact.contracts.lock.collect import collect
from batchpact.contracts.lock.diff import compare
from batchpact.contracts.lock.file import read
from batchpact.contracts.lock.text import render
from batchpact.contracts.pyproject import project_targets
from batchpact.schemas import BatchSchema, StageSchema

ROOT = Path(__file__).parent.parent
LOCK = "docs/batchpact.lock.json"


def test_the_lock_file_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make lock` writes it anew; what it changes is reviewed."""
    monkeypatch.chdir(ROOT)
    drift = compare(read(LOCK), collect(project_targets()), names=(LOCK, "the code"))

    assert drift.changes == (), render(drift)


def test_every_module_with_contracts_is_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    package = batchpact.schemas.rl
    modules = [
        importlib.import_module(found.name) for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    holding = [
        module.__name__
        for module in modules
        if any(
            isinstance(value, type)
            and issubclass(value, (BatchSchema, StageSchema))
            and value.__module__ == module.__name__
            for value in vars(module).values()
        )
    ]

    assert sorted(project_targets()) == ["batchpact.contracts.rl", *sorted(holding)]
