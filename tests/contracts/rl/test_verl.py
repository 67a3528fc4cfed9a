"""The contracts of the estimators against verl's own functions: their names, and what they cannot do without."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import NonTensorStack, TensorDict

from batchpact.contracts import stage, use_config
from batchpact.schemas.rl.dense.advantages import ESTIMATORS

pytestmark = pytest.mark.peers

CALLED = {
    "index": {"uid"},
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
    assert taken - read == set()


# --- what contracts find, shown in the real package -------------------------------------------------------------------


def test_a_function_that_asks_a_colocated_reward_model_does_not_get_the_right_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The newer trainer hands it three columns; verl's own reward managers read `data_source` and `reward_model`."""
    trainer = pytest.importorskip("verl.trainer.ppo.v1.trainer_base")
    naive = importlib.import_module("verl.experimental.reward_loop.reward_manager.naive")
    held = {"prompts": ragged([[1, 2], [3]]), "responses": ragged([[4, 5], [6]])}

    def fetch(keys: list[str], partition_id: str, select_fields: list[str]) -> TensorDict:
        found = TensorDict({name: held[name] for name in select_fields if name in held}, batch_size=len(keys))
        found["raw_prompt"] = NonTensorStack(*[{"role": "user", "content": "2+2?"}] * len(keys))
        return found

    monkeypatch.setattr(trainer, "tq", SimpleNamespace(kv_batch_get=fetch))
    tokenizer = SimpleNamespace(pad_token_id=0)
    manager = object.__new__(naive.NaiveRewardManager)
    manager.tokenizer = tokenizer

    def score(data: Any) -> Any:
        """What `RewardLoopWorker.compute_score` does where `reward.custom_reward_function.path` is set."""
        return asyncio.run(manager.run_single(data[:1]))

    driver = SimpleNamespace(
        reward_loop_manager=SimpleNamespace(compute_rm_score=score),
        tokenizer=tokenizer,
        _lengths_to_mask=trainer.PPOTrainer._lengths_to_mask,
    )
    with pytest.raises(KeyError, match="data_source"):
        trainer.PPOTrainer._compute_reward_colocate(driver, Keys(["a_0_0", "b_0_0"]))


class Keys(SimpleNamespace):
    """As much of a KVBatchMeta as the driver touches."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__(keys=keys, partition_id="train")

    def __len__(self) -> int:
        return len(self.keys)


def ragged(rows: list[list[int]]) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def advantages(estimator: str, *, by_std: bool = True, penalty: float = 0.0) -> torch.Tensor:
    """What `compute_advantage` gives two groups of two rows, their rewards less a penalty that grows row by row."""
    ray_trainer = pytest.importorskip("verl.trainer.ppo.ray_trainer")
    verl = importlib.import_module("verl")
    rewards = torch.zeros(4, 3)
    rewards[:, -1] = torch.tensor([1.0, 0.0, 3.0, 0.0])
    batch = verl.DataProto.from_dict(
        {
            "token_level_rewards": rewards - penalty * torch.arange(4)[:, None],
            "response_mask": torch.ones(4, 3, dtype=torch.int64),
            "prompts": torch.ones(4, 2, dtype=torch.int64),
            "attention_mask": torch.ones(4, 5, dtype=torch.int64),
        },
        non_tensors={"uid": np.array(list("aabb"), dtype=object), "acc": np.array([1.0, 0.0, 3.0, 0.0], dtype=object)},
    )
    omegaconf = importlib.import_module("omegaconf")
    config = omegaconf.OmegaConf.create({"norm_adv_by_std_in_grpo": by_std, "gdpo_reward_keys": ["acc"]})
    done = ray_trainer.compute_advantage(batch, estimator, norm_adv_by_std_in_grpo=by_std, config=config)
    found: torch.Tensor = done.batch["advantages"]
    return found


@pytest.mark.parametrize(("estimator", "obeys"), [("grpo", True), ("grpo_vectorized", False), ("gdpo", False)])
def test_who_obeys_norm_adv_by_std_in_grpo(estimator: str, obeys: bool) -> None:
    """Two functions take it by default, as `compute_advantage` passes it to GRPO alone: the setting does nothing."""
    same = torch.equal(advantages(estimator), advantages(estimator, by_std=False))

    assert same is not obeys


@pytest.mark.parametrize("estimator", ["grpo_vectorized", "gdpo"])
def test_under_contract_the_setting_is_obeyed(monkeypatch: pytest.MonkeyPatch, estimator: str) -> None:
    """An argument comes from the configuration, whoever calls: here verl's own `compute_advantage`, without it."""
    ignored, wanted = advantages(estimator, by_std=False), registered()[estimator]
    core_algos = importlib.import_module("verl.trainer.ppo.core_algos")
    made = stage(ESTIMATORS[estimator], unpack=True, names={"index": "uid"})(wanted)
    monkeypatch.setitem(core_algos.ADV_ESTIMATOR_REGISTRY, estimator, made)
    algorithm = {"gdpo_reward_keys": ["acc"], "norm_adv_by_std_in_grpo": False}

    with use_config({"algorithm": algorithm}):
        obeyed = advantages(estimator, by_std=False)

    assert not torch.equal(obeyed, ignored)


@pytest.mark.parametrize(("estimator", "obeys"), [("grpo", True), ("gdpo", False)])
def test_who_sees_a_penalty_in_the_reward(estimator: str, obeys: bool) -> None:
    """GDPO reads the parts of the reward as the reward function gave them: `use_kl_in_reward` does nothing."""
    same = torch.equal(advantages(estimator), advantages(estimator, penalty=0.3))

    assert same is not obeys
