"""A reward function with a colocated reward model, in verl 0.9.1: it is not handed what it reads."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from omegaconf import OmegaConf
from tensordict import NonTensorStack, TensorDict

from tests.findings.contracts import colocated, found
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, put_rollout


class Tokenizer:
    pad_token_id = 0

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool) -> str:
        return " ".join(map(str, ids.tolist()))


class Worker:
    """verl's reward worker in this process: its own `compute_score`, with its own naive reward manager."""

    def __init__(self) -> None:
        self.config = OmegaConf.create(
            {"reward": {"custom_reward_function": {"path": "scores.py"}, "reward_model": {"enable": True}}}
        )
        self.compute_score_batch = SimpleNamespace(remote=self._compute_score_batch)

    async def compute_score(self, data: Any) -> dict[str, Any]:
        from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

        return await RewardLoopWorker.compute_score(self, data)

    def _compute_score_batch(self, data: Any) -> list[dict[str, Any]]:
        from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
        from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

        async def run() -> list[dict[str, Any]]:
            self.reward_manager = NaiveRewardManager(self.config, Tokenizer(), lambda **given: 1.0)
            return await RewardLoopWorker.compute_score_batch(self, data)

        return asyncio.run(run())


class Manager:
    """verl's reward loop around that worker; it runs its own `compute_rm_score`."""

    reward_model_manager = None

    def __init__(self) -> None:
        from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

        self.reward_loop_workers = [Worker()]
        self.reward_manager_cls = NaiveRewardManager

    def compute_rm_score(self, data: Any) -> Any:
        from verl.experimental.reward_loop.reward_loop import RewardLoopManager

        return RewardLoopManager.compute_rm_score(self, data)


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Manager:
    from verl.experimental.reward_loop import reward_loop

    monkeypatch.setattr(reward_loop.ray, "get", lambda outputs: outputs)
    return Manager()


def test_it_dies_although_the_queue_holds_what_it_reads(queue: DictQueue, manager: Manager) -> None:
    trainer = Trainer()
    trainer.reward_loop_manager, trainer.tokenizer = manager, Tokenizer()
    meta = put_rollout(queue, [0.0, 0.0], [3, 5], ["a", "b"])
    columns = {
        "raw_prompt": NonTensorStack(*[[{"role": "user", "content": "1 + 1"}]] * 2),
        "data_source": NonTensorStack("sums", "sums"),
        "reward_model": NonTensorStack({"ground_truth": "2"}, {"ground_truth": "2"}),
    }
    queue.kv_batch_put(meta.keys, meta.partition_id, TensorDict(columns, batch_size=2))

    with pytest.raises(KeyError, match="data_source"):
        trainer._compute_reward_colocate(meta)
    assert queue.fetched == [["prompts", "responses", "raw_prompt"]]


def test_handed_the_whole_batch_it_runs(manager: Manager) -> None:
    """As the older trainer does."""
    import numpy as np
    from verl.protocol import DataProto

    rewards = np.array([{"ground_truth": "2"}, {"ground_truth": "2"}], dtype=object)
    data = DataProto.from_dict(
        {
            "prompts": torch.ones(2, 2).long(),
            "responses": torch.ones(2, 3).long(),
            "attention_mask": torch.ones(2, 5).long(),
        },
        non_tensors={"data_source": np.array(["sums", "sums"], dtype=object), "reward_model": rewards},
    )

    assert manager.compute_rm_score(data).batch["rm_scores"].tolist() == [[0.0, 0.0, 1.0]] * 2


def test_the_check_finds_it_before_anything_runs() -> None:
    assert found(colocated, "BP001") == [
        f"BP001 missing score_by_function: {field} declared non-tensor {kind}; nothing before writes it, "
        "and no known stage does; with reward.custom_reward_function.path set"
        for field, kind in (("data_source", "str"), ("reward_model", "dict[str, str]"))
    ]
