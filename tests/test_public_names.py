"""Every public name is described, stands on an API page, and needs nothing optional."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    *("schemas", "dataproto", "dataproto.tensordicts"),
    *("contracts", "contracts.testing", "contracts.events", "contracts.rl"),
)
OPTIONAL = ("hypothesis", "jinja2", "omegaconf", "PIL", "pygraphviz", "pytest", "ray", "tensorboard", "transfer_queue")
NEED_HYPOTHESIS = {"batches", "samples"}


@pytest.mark.parametrize("package", [*PACKAGES, "schemas.rl"])
def test_the_api_page_of_a_package_shows_it(package: str) -> None:
    """mkdocstrings lists what stands in `__all__` and is described."""
    page = ROOT / "docs" / "api" / f"{package}.md"

    assert f"::: batchpact.{package}\n" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_public_name_is_described(tmp_path: Path) -> None:
    """As the API pages see it, which read the source: constants and aliases are described by the string below them."""
    griffe = pytest.importorskip("griffe")  # not in .venv-peers
    loader = griffe.GriffeLoader(search_paths=[tmp_path])
    (tmp_path / "batchpact").mkdir()
    for floor in ("schemas", "dataproto", "contracts"):  # it does not follow an editable install's mapping
        (tmp_path / "batchpact" / floor).symlink_to(ROOT / floor)
    for floor in ("schemas", "dataproto", "contracts"):
        loader.load(f"batchpact.{floor}")
    modules = {package: loader.modules_collection[f"batchpact.{package}"] for package in PACKAGES}
    names = [(package, name) for package, module in modules.items() for name in module.exports or ()]

    assert [(package, name) for package, name in names if not modules[package][name].docstring] == []
    assert len(names) == sum(len(import_module(f"batchpact.{package}").__all__) for package in PACKAGES)


def test_every_public_name_can_be_imported_with_nothing_optional() -> None:
    names = {package: set(import_module(f"batchpact.{package}").__all__) - NEED_HYPOTHESIS for package in PACKAGES}
    lines = ["import sys", f"sys.modules.update(dict.fromkeys({[*OPTIONAL, 'verl', 'wandb']}))"]
    lines += [f"from batchpact.{package} import {', '.join(sorted(names[package]))}" for package in PACKAGES]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", sorted(NEED_HYPOTHESIS))
def test_what_needs_hypothesis_is_imported_when_it_is_used(name: str) -> None:
    code = f"import sys; sys.modules['hypothesis'] = None\nfrom batchpact.contracts.testing import sample, {name}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "ModuleNotFoundError: import of hypothesis halted" in run.stderr
