"""verl imports modules of the user's before its own: contracts that they set are in both of its trainers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

CONTRACTS = """\
from batchpact.contracts import stage
from batchpact.schemas.rl.dense.advantages import Grpo
from verl.trainer.ppo import ray_trainer

ray_trainer.compute_advantage = stage(Grpo)(ray_trainer.compute_advantage)
"""
TRAINERS = """\
from batchpact.contracts import contract_of
from verl.trainer.ppo import ray_trainer
from verl.trainer.ppo.v1 import utils

print(contract_of(ray_trainer.compute_advantage).spec.name, utils.compute_advantage is ray_trainer.compute_advantage)
"""


def test_a_contract_of_an_external_module_is_in_both_trainers(tmp_path: Path) -> None:
    """As docs/first-verl-contract.md says."""
    (tmp_path / "my_contracts.py").write_text(CONTRACTS)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    run = subprocess.run(
        [sys.executable, "-c", TRAINERS],
        env={**os.environ, "PYTHONPATH": path, "VERL_USE_EXTERNAL_MODULES": "my_contracts"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )

    assert run.stdout.splitlines()[-1] == "compute_advantage True"
