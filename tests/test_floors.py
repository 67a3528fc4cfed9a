"""The three floors: who may import whom, and what importing a floor may bring along."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPTIONAL = ("hydra", "omegaconf", "ray", "transfer_queue", "verl")


def test_each_floor_imports_only_the_floors_below(capsys: pytest.CaptureFixture[str]) -> None:
    from importlinter.cli import lint_imports  # not in .venv-peers

    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)

    assert status == 0, capsys.readouterr().out


@pytest.mark.parametrize("floor", ["schemas", "dataproto", "contracts"])
def test_a_floor_imports_nothing_optional(floor: str) -> None:
    assert not loaded_by(f"batchpact.{floor}") & set(OPTIONAL)


def test_contracts_are_lazy() -> None:
    """Or `batchpact --help` would take the second that torch takes."""
    assert "torch" not in loaded_by("batchpact.contracts")


def test_the_plugin_of_pytest_is_lazy() -> None:
    """It is imported in every run of pytest where batchpact is installed."""
    loaded = loaded_by("batchpact.contracts.testing.plugin")

    assert "pytest" in loaded
    assert not loaded & {"numpy", "pydantic", "tensordict", "torch"}


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())
