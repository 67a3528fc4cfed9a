"""Pad rows in the newer trainer of verl 0.9.1: most estimators leave them out, and two of them and the KL do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from batchpact.contracts import stage
from batchpact.dataproto import DataProto, column, pad_dataproto_to_divisor
from batchpact.schemas import BatchSchema, ContractError, StageSchema
from batchpact.schemas.rl import fields as f
from tests.findings.contracts import Floats
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, jagged, put, put_rollout

SCORES = [1.0, 2.0, 3.0, 4.0]
UNTOUCHED = [
    "gae",
    "grpo",
    "grpo_vectorized",
    "opo",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "rloo",
    "rloo_vectorized",
]


def advantages(queue: DictQueue, trainer: Trainer, multiple: int) -> list[float]:
    """The advantage of the first token of each real row, after verl has filled the batch up to a multiple."""
    from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size

    real = put_rollout(queue, SCORES, [3, 5, 2, 4], ["a", "a", "b", "b"])
    meta = upsample_batch_to_divisible_size(real, multiple, eos_token_id=2)
    lengths = [len(queue.rows[key]["responses"]) for key in meta.keys]
    for name, value in {"old_log_probs": -1.0, "ref_log_prob": -2.0, "values": 0.0}.items():
        put(queue, meta, **{name: jagged([[value] * length for length in lengths])})
    trainer._compute_advantage(meta, {})
    return [queue.rows[key]["advantages"][0].item() for key in real.keys]


@pytest.mark.parametrize("estimator", UNTOUCHED)
def test_pad_rows_are_nothing_to_most_estimators(queue: DictQueue, estimator: str) -> None:
    plain, filled = (advantages(queue, Trainer(algorithm__adv_estimator=estimator), size) for size in (4, 8))

    assert filled == pytest.approx(plain)


@pytest.mark.parametrize(("multiple", "first"), [(4, -0.5), (5, -0.625), (8, -1.0)])
def test_gpg_scales_its_advantages_by_them(queue: DictQueue, multiple: int, first: float) -> None:
    """It takes all rows in place of those that count into `alpha`, the rows over the rows with a reward."""
    found = advantages(queue, Trainer(algorithm__adv_estimator="gpg"), multiple)

    assert found == [first, -first, first, -first]


def test_pass_at_k_dies_of_a_single_one(queue: DictQueue) -> None:
    with pytest.raises(ValueError, match=r"requires at least 2 samples per group\. Got 1 for group pad"):
        advantages(queue, Trainer(algorithm__adv_estimator="grpo_passk"), 5)


@pytest.mark.parametrize(("multiple", "coefficient"), [(4, 0.0010044), (8, 0.000984)])
def test_the_kl_coefficient_goes_down_where_it_should_go_up(
    queue: DictQueue, multiple: int, coefficient: float
) -> None:
    """The KL is 1.0 in every real row, and above its target; a pad row adds a row of KL 0 to the mean."""
    adaptive = {"type": "adaptive", "kl_coef": 0.001, "target_kl": 0.9, "horizon": 100}
    trainer = Trainer(algorithm__use_kl_in_reward=True, algorithm__kl_ctrl=adaptive)

    advantages(queue, trainer, multiple)

    assert trainer.kl_ctrl_in_reward.value == pytest.approx(coefficient, rel=1e-4)


class Estimate(StageSchema):
    """What GPG and Pass@k read."""

    class Reads(BatchSchema):
        token_level_rewards: f.TokenLevelRewards
        response_mask: f.ResponseMask
        uid: f.Uid

    class Writes(BatchSchema):
        advantages: f.Advantages


class Penalise(StageSchema):
    """What the KL penalty in the reward reads."""

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores
        response_mask: f.ResponseMask
        old_log_probs: Floats
        ref_log_prob: Floats

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards


@stage(Estimate)
def gpg(data: Any) -> DataProto:
    from verl.trainer.ppo.core_algos import compute_gpg_outcome_advantage

    advantages, _ = compute_gpg_outcome_advantage(
        data.batch["token_level_rewards"], data.batch["response_mask"], data.non_tensor_batch["uid"]
    )
    return DataProto.from_dict({"advantages": advantages})


@stage(Penalise)
def penalise(data: Any) -> DataProto:
    from verl.trainer.ppo.core_algos import FixedKLController
    from verl.trainer.ppo.ray_trainer import apply_kl_penalty

    done, _ = apply_kl_penalty(data, FixedKLController(0.001))
    return DataProto.from_dict({"token_level_rewards": done.batch["token_level_rewards"]})


def scored() -> DataProto:
    scores = torch.tensor(SCORES).unsqueeze(1)
    ones = torch.ones(4, 1)
    return DataProto.from_dict(
        {
            "token_level_scores": scores,
            "token_level_rewards": scores,
            "response_mask": ones.long(),
            "old_log_probs": -ones,
            "ref_log_prob": -2 * ones,
        },
        non_tensors={"uid": column(["a", "a", "b", "b"])},
    )


@pytest.mark.parametrize("function", [gpg, penalise])
def test_a_stage_that_does_not_say_that_it_is_pad_safe_takes_no_pad_rows(function: Any) -> None:
    padded, _ = pad_dataproto_to_divisor(scored(), 8)

    function(scored())
    with pytest.raises(ContractError) as caught:
        function(padded)
    assert str(caught.value) == (
        f"1 problem where stage '{function.__name__}' reads its batch\n\n"
        "  BP033 padded  batch  4 pad rows of 8; the stage is not pad_safe"
    )
