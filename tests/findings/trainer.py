"""verl's newer trainer without workers: its own methods, on a queue that is a dict and with a small configuration."""

from __future__ import annotations

import copy
from typing import Any

import torch
from omegaconf import OmegaConf
from tensordict import NonTensorStack, TensorDict
from verl.trainer.ppo.core_algos import get_kl_controller
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.trainer.ppo.v1.trainer_base import PPOTrainer

from tests.findings.queue import DictQueue

CONFIG: dict[str, Any] = {
    "algorithm": {
        "adv_estimator": "grpo",
        "gamma": 1.0,
        "lam": 1.0,
        "norm_adv_by_std_in_grpo": True,
        "use_kl_in_reward": False,
        "kl_penalty": "kl",
        "kl_ctrl": {"type": "fixed", "kl_coef": 0.001, "target_kl": 0.1, "horizon": 100},
        "use_pf_ppo": False,
        "rollout_correction": None,
    },
    "actor_rollout_ref": {
        "rollout": {"n": 2, "temperature": 1.0, "calculate_log_probs": True},
        "actor": {"use_kl_loss": False, "ppo_mini_batch_size": 2},
    },
    "critic": {"enable": False, "ppo_mini_batch_size": 2},
    "trainer": {"critic_warmup": 0},
}
PARTITION = "train"


class Trainer(PPOTrainer):
    """A `PPOTrainer` of which single steps are called."""

    def __init__(self, **changes: Any) -> None:
        """`changes`: keys of the configuration, with `__` in place of dots."""
        self.config = OmegaConf.create(copy.deepcopy(CONFIG))
        for path, value in changes.items():
            OmegaConf.update(self.config, path.replace("__", "."), value, force_add=True)
        self.use_critic = need_critic(self.config)
        self.use_reference_policy = need_reference_policy(self.config)
        self.kl_ctrl_in_reward = get_kl_controller(self.config.algorithm.kl_ctrl)
        self.global_steps = 1
        self.ref_in_actor = False

    def on_step_end(self) -> None:
        """Nothing happens between steps."""

    def on_sample_end(self) -> None:
        """Nothing happens after sampling."""


def jagged(rows: list[list[float]], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row, dtype=dtype) for row in rows], layout=torch.jagged)


def put_rollout(queue: DictQueue, scores: list[float], lengths: list[int], uids: list[str]) -> Any:
    """Put responses with these scores, as the agent loop does, and give their meta."""
    prompts = [[7.0, 8.0]] * len(scores)
    responses = [[9.0] * length for length in lengths]
    ones = [[1.0] * length for length in lengths]
    fields = {
        "prompts": jagged(prompts, torch.int64),
        "responses": jagged(responses, torch.int64),
        "input_ids": jagged([a + b for a, b in zip(prompts, responses, strict=True)], torch.int64),
        "position_ids": jagged([list(range(2 + length)) for length in lengths], torch.int64),
        "response_mask": jagged(ones, torch.int64),
        "loss_mask": jagged(ones, torch.int64),
        "rm_scores": jagged([[0.0] * (n - 1) + [score] for n, score in zip(lengths, scores, strict=True)]),
        "rollout_log_probs": jagged([[-1.0] * length for length in lengths]),
        "uid": NonTensorStack(*uids),
    }
    seen: dict[str, int] = {}
    keys = []
    for uid in uids:
        seen[uid] = seen.get(uid, -1) + 1
        keys.append(f"{uid}_{seen[uid]}_0")
    tags = [{"seq_len": 2 + length, "prompt_len": 2, "response_len": length} for length in lengths]
    return queue.kv_batch_put(keys, PARTITION, TensorDict(fields, batch_size=len(scores)), tags)


def put(queue: DictQueue, meta: Any, **columns: torch.Tensor) -> None:
    """Put more columns of the same rows."""
    queue.kv_batch_put(meta.keys, meta.partition_id, TensorDict(columns, batch_size=len(meta.keys)))


def rows(queue: DictQueue, meta: Any, name: str) -> list[list[float]]:
    return [queue.rows[key][name].tolist() for key in meta.keys]
