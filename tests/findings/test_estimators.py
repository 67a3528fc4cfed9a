"""Four estimators of verl 0.9.1 that its newer trainer cannot run: they read what it does not fetch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from tests.findings.contracts import SevenColumns, advantage, found
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, jagged, put, put_rollout, rows

LENGTHS = [3, 5, 2, 4]
DIE: dict[str, tuple[type[BaseException], str]] = {
    "gdpo": (KeyError, 'key "prompts" not found'),
    "remax": (TypeError, "missing 1 required positional argument: 'reward_baselines'"),
    "optimal_token_baseline": (AssertionError, "requires sum_pi_squared from actor"),
    "tir_optimal_token_baseline": (AssertionError, "requires sum_pi_squared from actor"),
}
LIVE = [
    "gae",
    "gpg",
    "grpo",
    "grpo_passk",
    "grpo_vectorized",
    "opo",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "rloo",
    "rloo_vectorized",
]


def estimated(queue: DictQueue, estimator: str) -> Any:
    trainer = Trainer(algorithm__adv_estimator=estimator, algorithm__gdpo_reward_keys=["format"])
    meta = put_rollout(queue, [1.0, 2.0, 3.0, 4.0], LENGTHS, ["a", "a", "b", "b"])
    per_token = {
        name: jagged([[value] * length for length in LENGTHS])
        for name, value in {"old_log_probs": -1.0, "ref_log_prob": -1.0, "values": 0.0, "sum_pi_squared": 0.5}.items()
    }
    put(queue, meta, **per_token)
    return trainer._compute_advantage(meta, {})


@pytest.mark.parametrize("estimator", DIE)
def test_it_dies_although_the_queue_holds_what_it_reads(queue: DictQueue, estimator: str) -> None:
    error, text = DIE[estimator]

    with pytest.raises(error, match=text):
        estimated(queue, estimator)
    assert {"prompts", "sum_pi_squared"} <= set(queue.columns(list(queue.rows)))


@pytest.mark.parametrize("estimator", DIE)
def test_on_the_whole_batch_it_runs(estimator: str) -> None:
    """As in the older trainer, whose batch holds all that was written."""
    import numpy as np
    from verl.protocol import DataProto
    from verl.trainer.ppo.ray_trainer import compute_advantage

    config = Trainer(algorithm__gdpo_reward_keys=["format"]).config.algorithm
    floats = dict.fromkeys(["token_level_rewards", "old_log_probs", "sum_pi_squared"], torch.full((4, 3), 0.5))
    ones = {"prompts": (4, 2), "attention_mask": (4, 5), "response_mask": (4, 3)}
    batch = {**floats, **{name: torch.ones(size).long() for name, size in ones.items()}}
    columns = {"uid": np.array(list("aabb"), dtype=object), "format": np.array([0.0, 1.0, 0.0, 1.0])}
    data = DataProto.from_dict({**batch, "reward_baselines": torch.zeros(4)}, non_tensors=columns)

    assert compute_advantage(data, estimator, config=config).batch["advantages"].shape == (4, 3)


@pytest.mark.parametrize("estimator", LIVE)
def test_the_others_run(queue: DictQueue, estimator: str) -> None:
    meta = estimated(queue, estimator)

    assert [len(row) for row in rows(queue, meta, "advantages")] == LENGTHS


def test_every_estimator_that_is_registered_is_named_here() -> None:
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY

    assert sorted(ADV_ESTIMATOR_REGISTRY) == sorted([*DIE, *LIVE])


def test_the_contract_lists_what_the_trainer_fetches(queue: DictQueue) -> None:
    estimated(queue, "grpo")

    (fetched,) = queue.fetched
    assert fetched is not None
    assert sorted(fetched) == sorted({field.key for field in SevenColumns.__batchpact__.spec.fields} - {"keys"})


def test_the_check_finds_each_of_them_before_anything_runs() -> None:
    nobody = "nothing before writes it, and no known stage does"
    assert found(advantage, "BP001") == [
        f"BP001 missing estimate_advantage: {line}"
        for line in (
            f"prompts declared i64 \"batch prompt\"; {nobody}; with algorithm.adv_estimator='gdpo'",
            f"attention_mask declared i64 \"batch prompt+response\"; {nobody}; with algorithm.adv_estimator='gdpo'",
            f"reward_baselines declared f32 \"batch\"; {nobody}; with algorithm.adv_estimator='remax'",
            f'sum_pi_squared declared f32 "batch response"; {nobody}; '
            "with algorithm.adv_estimator='optimal_token_baseline'",
            f"values declared f32 \"batch response\"; {nobody}; closest name: 'values', in the inputs; "
            "with algorithm.adv_estimator='gae', critic.enable=False",
        )
    ]


@pytest.mark.parametrize("estimator", [*DIE, *LIVE])
def test_one_configuration_is_sound_where_the_trainer_runs(estimator: str) -> None:
    report = advantage.check({"algorithm": {"adv_estimator": estimator}})

    assert report.ok == (estimator in LIVE)


def test_gae_without_its_critic_dies_as_well(queue: DictQueue) -> None:
    """The fifth line of that check: `critic.enable=False` is not refused, and nobody writes the values then."""
    trainer = Trainer(algorithm__adv_estimator="gae", critic__enable=False)
    meta = put_rollout(queue, [1.0, 2.0], [3, 5], ["a", "a"])

    assert not trainer.use_critic
    with pytest.raises(KeyError, match='key "values" not found'):
        trainer._compute_advantage(meta, {})
