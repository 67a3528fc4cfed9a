"""Rejection sampling in verl 0.9.1 rewrites `response_mask`, and not its twin `loss_mask`, which engines count."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from tests.findings.contracts import found, step
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, jagged, put, put_rollout, rows

LENGTHS = [3, 5, 2, 4]
REJECT = {"rollout_rs": "seq_mean_k1", "rollout_rs_threshold": "0.5_2.0"}


def masks(queue: DictQueue) -> dict[str, list[int]]:
    """The tokens that each mask counts, where the second response is far from what was sampled."""
    trainer = Trainer(algorithm__rollout_correction=REJECT)
    meta = put_rollout(queue, [1.0, 2.0, 3.0, 4.0], LENGTHS, ["a", "a", "b", "b"])
    put(queue, meta, old_log_probs=jagged([[-1.0] * 3, [-3.0] * 5, [-1.0] * 2, [-1.0] * 4]))
    trainer._compute_advantage(meta, {})
    return {name: [int(sum(row)) for row in rows(queue, meta, name)] for name in ("response_mask", "loss_mask")}


def test_one_of_the_masks_still_counts_what_was_rejected(queue: DictQueue) -> None:
    assert masks(queue) == {"response_mask": [3, 0, 2, 4], "loss_mask": [3, 5, 2, 4]}


def test_the_older_trainer_makes_one_of_the_other_at_each_call() -> None:
    from tensordict import TensorDict
    from verl.workers.utils.padding import left_right_2_no_padding

    ones = {"input_ids": (2, 5), "attention_mask": (2, 5), "position_ids": (2, 5)}
    rejected = torch.tensor([[1, 1, 1], [0, 0, 0]])
    batch = {**{name: torch.ones(size).long() for name, size in ones.items()}, "response_mask": rejected}

    data = left_right_2_no_padding(TensorDict(batch, batch_size=2))

    assert data["loss_mask"].tolist() == rejected.tolist()


def test_the_mean_over_tokens_is_taken_over_tokens_that_were_rejected(queue: DictQueue) -> None:
    """An engine divides by `data["loss_mask"].sum()`, and the loss adds up what `response_mask` leaves."""
    from verl.trainer.ppo.core_algos import agg_loss

    counts = masks(queue)
    mask = torch.tensor([[1.0] * n + [0.0] * (5 - n) for n in counts["response_mask"]])

    mean = agg_loss(torch.ones(4, 5), mask, "token-mean", batch_num_tokens=sum(counts["loss_mask"]))

    assert mean.item() == pytest.approx(9 / 14)  # the mean of ones


def test_the_check_finds_that_the_twins_drift_apart() -> None:
    assert found(step, "BP063") == [
        "BP063 twins compute_advantage: response_mask it is rewritten, and its twin loss_mask is not; "
        "loss_mask has the same values (the inputs wrote it); "
        "write loss_mask in 'compute_advantage', too, or drop it there; "
        "with actor_rollout_ref.rollout.calculate_log_probs=True, "
        "algorithm.rollout_correction.bypass_mode=False, algorithm.rollout_correction.rollout_rs=True"
    ]
