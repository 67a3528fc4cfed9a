"""What verl's newer trainer fetches and puts is what the contracts of `schemas.rl.queue` say: its own methods run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from tensordict import NonTensorStack, TensorDict

from batchpact.schemas import StageSchema
from batchpact.schemas.condition_specs import holds
from batchpact.schemas.record import SchemaSpec
from batchpact.schemas.rl.queue import advantages, engines, reward, updates
from batchpact.schemas.rl.queue import rollout as rollout_stages
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, jagged, put, put_rollout

LENGTHS = [3, 5]


class Workers:
    """A worker group whose workers put a number for every token of each text."""

    def __init__(self, queue: DictQueue, *writes: str) -> None:
        self._queue, self._writes, self.futures = queue, writes, []
        self._dispatch_info = {"actor": [0]}

    def compute_log_prob(self, meta: Any) -> Any:
        texts = self._queue.kv_batch_get(meta.keys, meta.partition_id, ["input_ids"])["input_ids"]
        columns = {name: jagged([[-1.0] * len(row) for row in texts.unbind()]) for name in self._writes}
        self._queue.kv_batch_put(meta.keys, meta.partition_id, TensorDict(columns, batch_size=len(meta.keys)))
        self._queue.fetched.clear()  # what workers fetch is another question
        return meta

    compute_ref_log_prob = compute_log_prob

    def infer_batch(self, meta: Any) -> Workers:
        self.compute_log_prob(meta)
        return self


@pytest.fixture
def trainer(queue: DictQueue, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    from verl.trainer.ppo.v1 import trainer_base

    monkeypatch.setattr(trainer_base.ray, "get", lambda futures: futures)
    made = Trainer(
        algorithm__adv_estimator="gae",
        algorithm__use_kl_in_reward=True,
        algorithm__rollout_correction={"rollout_is": "token", "bypass_mode": False},
        critic__enable=True,
        actor_rollout_ref__actor__loss_agg_mode="token-mean",
        actor_rollout_ref__actor__loss_scale_factor=None,
        actor_rollout_ref__model={},
    )
    made.actor_rollout_wg = Workers(queue, "log_probs", "entropy")
    made.ref_policy_wg, made.critic_wg = Workers(queue, "log_probs"), Workers(queue, "values")
    made.tokenizer = SimpleNamespace(pad_token_id=0)
    made._rollout_moe_lb_metrics_accumulator = None
    made.resource_pool_manager = SimpleNamespace(get_n_gpus=lambda: 1)
    return made


def rollout(queue: DictQueue) -> Any:
    """Rows as the agent loop puts them, with everything that later calls have put."""
    meta = put_rollout(queue, [1.0, 2.0], LENGTHS, ["a", "b"])
    columns = {
        "raw_prompt": NonTensorStack(*[[{"role": "user", "content": "1 + 1"}]] * 2),
        "num_turns": NonTensorStack(2, 2),
    }
    queue.kv_batch_put(meta.keys, meta.partition_id, TensorDict(columns, batch_size=2))
    for tag in meta.tags:
        tag.update(min_global_steps=0, max_global_steps=0)
    return meta


def put_later(queue: DictQueue, meta: Any, *names: str) -> None:
    """Put what the calls before the one that is looked at have put."""
    put(queue, meta, **{name: jagged([[-0.5] * length for length in LENGTHS]) for name in names})


def asked(queue: DictQueue) -> set[str]:
    return {name for names in queue.fetched for name in names or []}


def keys(trainer: Trainer, schema: SchemaSpec) -> set[str]:
    """The columns of a contract in the configuration of the trainer; the keys and tags of rows are no columns."""

    def look_up(subject: Any) -> Any:
        from omegaconf import OmegaConf

        found = OmegaConf.select(trainer.config, subject.name)
        return subject.default if found is None else found

    return {
        field.key
        for field in schema.fields
        if field.places[0].placement in ("tensor", "non_tensor")
        and field.role != "key"
        and (field.when is None or holds(field.when, look_up))
    }


@pytest.mark.parametrize(
    ("method", "stage", "before"),
    [
        ("_compute_old_log_prob", engines.CutOldLogProbs, ()),
        ("_compute_ref_log_prob", engines.CutRefLogProb, ()),
        ("_compute_values", engines.CutValues, ()),
        ("_compute_advantage", advantages.ComputeAdvantage, ("old_log_probs", "ref_log_prob", "values")),
    ],
)
def test_a_method_fetches_and_puts_the_columns_of_its_contract(
    queue: DictQueue, trainer: Trainer, method: str, stage: type[StageSchema], before: tuple[str, ...]
) -> None:
    meta = rollout(queue)
    put_later(queue, meta, *before)
    held = {name: value for row in queue.rows.values() for name, value in row.items()}
    queue.fetched.clear()

    getattr(trainer, method)(meta, {})

    record = stage.__batchpact__
    assert asked(queue) == keys(trainer, record.reads)
    after = {name: value for row in queue.rows.values() for name, value in row.items()}
    put_now = {name for name, value in after.items() if value is not held.get(name)}
    made_by_workers = {"log_probs"} & put_now
    assert put_now - made_by_workers == keys(trainer, record.writes)


def test_in_bypass_mode_one_column_is_put_under_another_name(queue: DictQueue, trainer: Trainer) -> None:
    trainer.config.algorithm.rollout_correction.bypass_mode = True
    meta = rollout(queue)
    queue.fetched.clear()

    trainer._compute_old_log_prob(meta, {})

    record = engines.UseRolloutLogProbs.__batchpact__
    assert asked(queue) == keys(trainer, record.reads)
    assert "old_log_probs" in queue.columns(meta.keys)


def test_a_colocated_reward_model_fetches_three_columns_and_puts_scores_and_figures(
    queue: DictQueue, trainer: Trainer
) -> None:
    from verl import DataProto

    def compute_rm_score(data: Any) -> Any:
        return DataProto.from_dict(
            {"rm_scores": torch.ones(2, 5)},
            {"length": torch.tensor(LENGTHS).numpy()},
            {"reward_extra_keys": ["length"]},
        )

    trainer.reward_loop_manager = SimpleNamespace(compute_rm_score=compute_rm_score)
    meta = rollout(queue)
    queue.fetched.clear()

    trainer._compute_reward_colocate(meta)

    assert asked(queue) == keys(trainer, reward.ScoreColocated.__batchpact__.reads)
    assert [queue.rows[key]["length"] for key in meta.keys] == LENGTHS, "the figure is a column under its own name"


def test_the_figures_of_a_step_are_made_of_the_columns_of_their_contract(queue: DictQueue, trainer: Trainer) -> None:
    meta = rollout(queue)
    put_later(queue, meta, "values", "advantages", "returns", "token_level_rewards")
    queue.fetched.clear()

    trainer._compute_metrics(meta, {}, {"step": 1.0, "gen": 1.0}, 1, 0)

    only_with_mtp = {"extra_fields"}
    assert asked(queue) == keys(trainer, updates.LogMetrics.__batchpact__.reads) - only_with_mtp


def test_rows_are_balanced_by_a_tag_and_no_column_is_fetched(queue: DictQueue, trainer: Trainer) -> None:
    """In its contract `rows` is "permute", and `seq_len` a tag: known without fetching."""
    trainer.actor_rollout_wg._dispatch_info = {"actor": [0, 1]}
    trainer.tokenizer.eos_token_id = 2
    meta = put_rollout(queue, [1.0] * 4, [3, 5, 3, 5], ["a", "b", "c", "d"])
    before = list(meta.keys)

    after = trainer._balance_batch(meta, {})

    assert queue.fetched == []
    assert sorted(after.keys) == sorted(before)
    assert [sum(tag["seq_len"] for tag in half) for half in (after.tags[:2], after.tags[2:])] == [12, 12]
    assert keys(trainer, rollout_stages.Balance.__batchpact__.reads) == set()
