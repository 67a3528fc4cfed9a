"""verl's own estimators under contract, beside the bare functions: 1,024 rows with 1,536 response tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from batchpact.contracts import checking, stage, use_config
from batchpact.dataproto import DataProto
from batchpact.schemas.rl.dense.advantages import ESTIMATORS

core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")

ROWS, RESPONSE, ROLLOUTS = 1024, 1536, 8
SETTINGS = {"algorithm": {"gamma": 0.9, "lam": 0.95, "norm_adv_by_std_in_grpo": True}}
NAMES = ("gae", "grpo", "grpo_vectorized", "rloo", "remax", "opo", "gpg")

group = pytest.mark.benchmark(group="verl's estimators under contract: 1,024 rows, 1,536 response tokens")
pytestmark = pytest.mark.bench


def batch() -> DataProto:
    random = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, RESPONSE + 1, (ROWS, 1), generator=random)
    mask = (torch.arange(RESPONSE) < lengths).long()
    rewards = torch.zeros(ROWS, RESPONSE).scatter_(1, lengths - 1, torch.randn(ROWS, 1, generator=random))
    return DataProto.from_dict(
        {
            "token_level_rewards": rewards,
            "values": torch.randn(ROWS, RESPONSE, generator=random) * mask,
            "response_mask": mask,
            "reward_baselines": torch.rand(ROWS, generator=random),
        },
        {"uid": [f"prompt {row // ROLLOUTS}" for row in range(ROWS)]},
    )


def parameters(function: Callable[..., Any]) -> set[str]:
    return set(function.__code__.co_varnames[: function.__code__.co_argcount])


def cases(name: str, level: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The bare function and the same under contract, on one batch."""
    function, data = core_algos.get_adv_estimator_fn(name), batch()
    assert data.batch is not None
    known = {**data.batch, "index": data.non_tensor_batch["uid"], "gamma": 0.9, "lam": 0.95}
    given = {key: value for key, value in known.items() if key in parameters(function)}
    names = {"index": "uid"} if "index" in parameters(function) else {}
    staged = stage(ESTIMATORS[name], unpack=True, names=names, name=name)(function)

    def under_contract() -> Any:
        with use_config(SETTINGS), checking(level):
            return staged(data)

    return lambda: function(**given), under_contract


def measure(benchmark: BenchmarkFixture, call: Callable[[], Any], other: Callable[[], Any]) -> None:
    """Each round comes behind one of the other: both find the memory as the other leaves it."""

    def before() -> None:
        other()

    benchmark.pedantic(call, setup=before, rounds=15, warmup_rounds=3)


@group
@pytest.mark.parametrize("name", NAMES)
def test_bare(benchmark: BenchmarkFixture, name: str) -> None:
    bare, under_contract = cases(name, "structure")
    benchmark.extra_info["what"] = f"{name}, bare"
    measure(benchmark, bare, under_contract)


@group
@pytest.mark.parametrize("level", ["structure", "values"])
@pytest.mark.parametrize("name", NAMES)
def test_under_contract(benchmark: BenchmarkFixture, name: str, level: Any) -> None:
    """By the contracts of the vocabulary, whose rules `values` asks of every element."""
    bare, under_contract = cases(name, level)
    benchmark.extra_info |= {"what": f"{name}, level {level}", "against": f"test_bare[{name}]"}
    benchmark.extra_info |= {"goal": "<= 1.1 x"} if level == "structure" else {}
    measure(benchmark, under_contract, bare)
