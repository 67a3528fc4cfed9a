"""The public surface of `batchpact.contracts`: complete, lazy, and never hidden by a module."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import batchpact.contracts

NAMES = [
    "ContractWarning",
    "Dump",
    "Event",
    "Figures",
    "Pipeline",
    "Report",
    "StageFuture",
    "WorkerError",
    "WorkerGroup",
    "alias",
    "checking",
    "contract_dispatch",
    "contract_of",
    "from_rows",
    "infer",
    "observe",
    "save_counts",
    "stage",
    "this_worker",
    "trace",
    "use_config",
    "when",
]


def test_the_public_names() -> None:
    """A name that is added or taken away is a change of the surface."""
    assert batchpact.contracts.__all__ == NAMES
    assert set(NAMES) <= set(dir(batchpact.contracts))


@pytest.mark.parametrize("name", NAMES)
def test_a_lazy_name_is_the_one_of_its_module(name: str) -> None:
    home = importlib.import_module(f"batchpact.contracts.{batchpact.contracts._HOMES[name]}")

    assert getattr(batchpact.contracts, name) is getattr(home, name)


def test_every_public_name_has_a_home_and_a_type() -> None:
    """`__all__`, the lazy homes and what type checkers import are three lists of one surface."""
    source = Path(batchpact.contracts.__file__).read_text(encoding="utf-8")
    block = source.partition("if TYPE_CHECKING:\n")[2].partition("\n\n")[0]
    imported = {name.strip() for line in block.splitlines() for name in line.partition(" import ")[2].split(",")}

    assert imported == set(batchpact.contracts._HOMES) == set(NAMES)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'batchpact\.contracts' has no attribute 'stages'$"):
        _ = batchpact.contracts.stages


@pytest.mark.parametrize("module", sorted(set(batchpact.contracts._HOMES.values())))
def test_a_module_that_was_imported_first_hides_no_name(module: str) -> None:
    """`from batchpact.contracts import stage` is the decorator, also after its module was imported."""
    importlib.import_module(f"batchpact.contracts.{module}")

    assert {type(getattr(batchpact.contracts, name)).__name__ for name in NAMES} <= {"type", "function"}


def test_a_fresh_process_gets_the_decorator_after_the_modules() -> None:
    modules = ", ".join(f"batchpact.contracts.{home}" for home in sorted(set(batchpact.contracts._HOMES.values())))
    code = f"import {modules}\nfrom batchpact.contracts import *\nprint(stage.__module__, Report.__module__, observe)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout.startswith("batchpact.contracts.decorator batchpact.contracts.report <function observe"), (
        run.stderr
    )
