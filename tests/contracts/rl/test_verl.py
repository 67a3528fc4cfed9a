"""The contracts of the estimators against verl's own functions: their names, and what they cannot do without."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from batchpact.schemas.rl.dense.advantages import ESTIMATORS

pytestmark = pytest.mark.peers

CALLED = {
    "index": {"uid"},
    "lam": {"lam"},
    "batch": {"prompts", "attention_mask"},
    "non_tensor_batch": set(),  # the columns of gdpo_reward_keys, which only the data knows
    "config": set(),
    "epsilon": set(),
    "f_norm": set(),
    "alpha": set(),
    "handle_zero_tail": set(),
    "kwargs": set(),
}
"""What verl passes under a name of its own, and what never comes from a batch."""


def registered() -> dict[str, Any]:
    core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
    return dict(core_algos.ADV_ESTIMATOR_REGISTRY)


def test_every_registered_estimator_has_a_contract() -> None:
    assert set(ESTIMATORS) == set(registered())


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_contract_reads_what_the_function_takes(name: str) -> None:
    function = registered()[name]
    read = {field.key for field in ESTIMATORS[name].__batchpact__.reads.fields}
    taken: set[str] = set()
    for parameter in inspect.signature(function).parameters.values():
        taken |= CALLED.get(parameter.name, {parameter.name})

    batch = {key for key in read if not key.startswith(("gdpo_", "norm_adv", "gamma"))}
    assert batch <= taken
    assert taken - read <= {"norm_adv_by_std_in_grpo"}, "GDPO takes it, and compute_advantage never passes it"
