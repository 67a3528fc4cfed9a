"""What verl's older trainer does on its driver, under the contracts of `schemas.rl.dense`: its own methods.

Its workers are a stand-in that keeps what it was handed, and answers with a number for every token.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl.trainer.ppo.ray_trainer import RayPPOTrainer
from verl.utils import tensordict_utils as tu

from batchpact.contracts import stage
from batchpact.schemas.rl.dense.log_probs import (
    ComputeOldLogProb,
    ComputeRefLogProb,
    ComputeRefLogProbInActor,
    ComputeValues,
)
from batchpact.schemas.rl.dense.reward import ExtractReward, ScoreByModel
from batchpact.schemas.rl.dense.updates import UpdateActor, UpdateCritic

CONFIG = OmegaConf.create(
    {
        "actor_rollout_ref": {
            "rollout": {"n": 2, "temperature": 1.0, "multi_turn": {"enable": False}, "calculate_log_probs": False},
            "actor": {
                "calculate_entropy": False,
                "calculate_sum_pi_squared": True,
                "entropy_coeff": 0.0,
                "ppo_mini_batch_size": 2,
                "ppo_epochs": 1,
                "data_loader_seed": 42,
                "shuffle": False,
                "use_kl_loss": True,
            },
        },
        "critic": {"ppo_mini_batch_size": 2, "ppo_epochs": 1, "data_loader_seed": 42, "shuffle": False},
        "algorithm": {"adv_estimator": "gae", "rollout_correction": None},
    }
)


class Workers:
    """A group of workers.

    Attributes:
        handed: the keys of each batch that it was handed, by the name of the call.
    """

    def __init__(self) -> None:
        self.handed: dict[str, TensorDict] = {}

    def _answer(self, call: str, data: TensorDict, *names: str) -> TensorDict:
        self.handed[call] = data
        texts = data["input_ids"]
        sign = {"log_probs": -1, "values": -1}  # the rest is never below 0
        answers = {
            name: torch.nested.nested_tensor_from_jagged(sign.get(name, 1) * texts.values() / 100, texts.offsets())
            for name in names
        }
        return tu.get_tensordict(answers, non_tensor_dict={"metrics": {"mfu": 0.5, "loss": [0.25]}})

    def compute_log_prob(self, data: TensorDict) -> TensorDict:
        return self._answer("actor", data, "log_probs", "entropy", "sum_pi_squared")

    def compute_ref_log_prob(self, data: TensorDict) -> TensorDict:
        return self._answer("reference", data, "log_probs")

    def infer_batch(self, data: TensorDict) -> Any:
        answer = self._answer("critic", data, "values")
        return SimpleNamespace(get=lambda: answer)

    def update_actor(self, data: TensorDict) -> TensorDict:
        return self._answer("update actor", data)

    def train_mini_batch(self, data: TensorDict) -> Any:
        answer = self._answer("update critic", data)
        return SimpleNamespace(get=lambda: answer)

    def compute_rm_score(self, data: Any) -> Any:
        """What `RewardLoopManager` does with the scores of its workers."""
        from verl import DataProto
        from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

        scores = RewardManagerBase.assemble_rm_scores(data, [1.0] * len(data))
        return DataProto.from_dict({"rm_scores": scores}, meta_info={"reward_extra_keys": []})


class Driver:
    """A trainer of which single methods are called, each under its contract."""

    def __init__(self, *, ref_in_actor: bool = False) -> None:
        self.workers = Workers()
        self.trainer = SimpleNamespace(
            config=CONFIG,
            ref_in_actor=ref_in_actor,
            actor_rollout_wg=self.workers,
            ref_policy_wg=self.workers,
            critic_wg=self.workers,
            reward_loop_manager=self.workers,
        )

    def _own(self, method: str, data: Any) -> Any:
        return vars(RayPPOTrainer)[method](self.trainer, data)

    @stage(ComputeOldLogProb)
    def compute_old_log_prob(self, data: Any) -> Any:
        return self._own("_compute_old_log_prob", data)  # the batch and a figure

    @stage(ComputeRefLogProb)
    def compute_ref_log_prob(self, data: Any) -> Any:
        return self._own("_compute_ref_log_prob", data)

    @stage(ComputeRefLogProbInActor)
    def compute_ref_log_prob_in_actor(self, data: Any) -> Any:
        return self._own("_compute_ref_log_prob", data)

    @stage(ComputeValues)
    def compute_values(self, data: Any) -> Any:
        return self._own("_compute_values", data)

    @stage(UpdateActor)
    def update_actor(self, data: Any, **_: Any) -> Any:
        return self._own("_update_actor", data)

    @stage(UpdateCritic)
    def update_critic(self, data: Any, **_: Any) -> Any:
        return self._own("_update_critic", data)

    @stage(ScoreByModel)
    def score_by_model(self, data: Any) -> Any:
        return self._own("_compute_reward_colocate", data)


@stage(ExtractReward)
def extract_reward(data: Any) -> ExtractReward.Writes:
    from verl.trainer.ppo.reward import extract_reward as theirs

    scores, _figures = theirs(data)
    return ExtractReward.Writes(token_level_scores=scores)
