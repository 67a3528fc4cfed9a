"""What verl's older trainer does on its driver, under the contracts of `schemas.rl.dense`: its own methods.

Its workers are a stand-in that keeps what it was handed, and answers with a number for every token.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Annotated, Any

import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl.trainer.ppo.ray_trainer import RayPPOTrainer
from verl.utils import tensordict_utils as tu

from batchpact.contracts import stage
from batchpact.schemas import BatchSchema, StageSchema, When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import IS_WEIGHTS, KL_IN_LOSS
from batchpact.schemas.rl.dense.advantages import EstimatorWrites, GroupReads
from batchpact.schemas.rl.dense.log_probs import (
    ComputeOldLogProb,
    ComputeRefLogProb,
    ComputeRefLogProbInActor,
    ComputeValues,
)
from batchpact.schemas.rl.dense.reward import ExtractReward, ScoreByModel
from batchpact.schemas.rl.dense.updates import UpdateActor, UpdateCritic
from batchpact.schemas.rl.fields import jagged as j

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


class FinalOutputs(StageSchema):
    """GRPO over the last output of each session, whose advantage all of its outputs share."""

    class Reads(GroupReads):
        batch_keys: f.BatchKeys

    class Writes(EstimatorWrites):
        pass


@stage(FinalOutputs)
def compare_final_outputs(data: Any) -> Any:
    from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories

    keys = data.non_tensor_batch["batch_keys"].tolist()
    return compute_advantage_for_multi_trajectories(data, keys, "grpo", config=CONFIG.algorithm)


class ExpertLoad(StageSchema):
    """How evenly the tokens of the responses went to the experts, over the steps of an interval."""

    class Reads(BatchSchema):
        prompts: f.Prompts
        responses: f.Responses
        routed_experts: f.RoutedExperts
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        metrics: f.Metrics


@stage(ExpertLoad)
def expert_load(data: Any) -> ExpertLoad.Writes:
    from verl.trainer.ppo.metric_utils import RolloutMoELoadBalanceMetricsAccumulator, compute_moe_lb_metrics

    accumulator = RolloutMoELoadBalanceMetricsAccumulator()
    accumulator.num_experts, accumulator.num_experts_initialized = 4, True
    return ExpertLoad.Writes(metrics=compute_moe_lb_metrics(data, 1, 1, accumulator))


# --- losses of an engine ----------------------------------------------------------------------------------------------


class LossReads(BatchSchema):
    """What a loss is told of a micro-batch: where its responses are, and of how much it is a part."""

    prompts: j.Prompts
    responses: j.Responses
    response_mask: j.ResponseMask
    dp_size: f.DpSize
    batch_num_tokens: f.BatchNumTokens
    global_batch_size: f.GlobalBatchSize


class PpoLoss(StageSchema):
    """The loss of the actor, with a KL term where there is one; what the model said goes beside the batch."""

    class Reads(LossReads):
        old_log_probs: j.OldLogProbs
        advantages: j.Advantages
        ref_log_prob: Annotated[j.RefLogProb, When(KL_IN_LOSS)]
        rollout_is_weights: Annotated[j.RolloutIsWeights, When(IS_WEIGHTS)]

    class Writes(BatchSchema):
        metrics: f.UpdateMetrics


class CriticLoss(StageSchema):
    """The loss of the critic."""

    class Reads(LossReads):
        values: j.Values
        returns: j.Returns

    class Writes(BatchSchema):
        metrics: f.UpdateMetrics


SIZES = {"rollout_n": 1, "ppo_mini_batch_size": 1, "ppo_micro_batch_size_per_gpu": 1}


@stage(PpoLoss)
def ppo_loss(data: Any, said: Mapping[str, Any]) -> tuple[PpoLoss.Writes, Any]:
    from verl.workers.config import ActorConfig
    from verl.workers.utils.losses import ppo_loss as theirs

    loss, figures = theirs(ActorConfig(strategy="fsdp", use_kl_loss=True, **SIZES), said, data)
    return PpoLoss.Writes(metrics=figures), loss


@stage(CriticLoss)
def value_loss(data: Any, said: Mapping[str, Any]) -> tuple[CriticLoss.Writes, Any]:
    from verl.workers.utils.losses import value_loss as theirs

    settings = SimpleNamespace(loss_scale_factor=None, cliprange_value=0.2, loss_agg_mode="token-mean")
    loss, figures = theirs(settings, said, data)
    return CriticLoss.Writes(metrics=figures), loss
