"""The page lists each function of verl that takes a batch, with the test that covers it or the reason why none does."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MODULES = (
    "verl.trainer.ppo.core_algos",
    "verl.trainer.ppo.metric_utils",
    "verl.trainer.ppo.padding_utils",
    "verl.trainer.ppo.ray_trainer",
    "verl.trainer.ppo.reward",
    "verl.trainer.ppo.rollout_corr_helper",
    "verl.trainer.ppo.v1.utils",
    "verl.utils.debug.metrics",
    "verl.workers.utils.losses",
    "verl.workers.utils.padding",
)
TRAINERS = ("verl.trainer.ppo.ray_trainer.RayPPOTrainer", "verl.trainer.ppo.v1.trainer_base.PPOTrainer")
FILE = re.compile(r"`([\w./]+\.py)`")
NAME = re.compile(r"`([\w.]+)`")


def listed() -> dict[str, tuple[str, str]]:
    """The functions of the page's table: contract, and test or reason."""
    page = (ROOT / "docs" / "rl.md").read_text()
    _, _, table = page.partition("## What of verl is covered")
    rows = [line.strip("|").split("|") for line in table.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    return {name: (contract, how) for names, contract, how in rows for name in NAME.findall(names)}


def test_a_row_has_a_test_or_a_reason() -> None:
    for name, (contract, how) in listed().items():
        files = FILE.findall(how)
        assert bool(files) is (contract.strip() != "none"), name
        for file in files:
            assert (ROOT / file if "/" in file else Path(__file__).parent / file).is_file(), f"{name}: {file}"


@pytest.mark.peers
def test_the_table_has_every_function_of_verl_and_no_other() -> None:
    found = set()
    for path in MODULES:
        module = pytest.importorskip(path)
        own = (value for value in vars(module).values() if inspect.isfunction(value) and value.__module__ == path)
        found |= {function.__name__ for function in own if not function.__name__.startswith("_")}
    for path in TRAINERS:
        module, _, name = path.rpartition(".")
        methods = vars(getattr(importlib.import_module(module), name)).values()
        functions = [method for method in methods if inspect.isfunction(method)]
        found |= {f"{name}.{f.__name__}" for f in functions if "batch" in inspect.signature(f).parameters}

    assert set(listed()) == found


@pytest.mark.peers
def test_everything_that_is_registered_is_listed() -> None:
    core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
    registered = (*core_algos.ADV_ESTIMATOR_REGISTRY.values(), *core_algos.POLICY_LOSS_REGISTRY.values())

    assert {function.__name__ for function in registered} <= set(listed())
