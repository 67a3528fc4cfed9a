"""`no_lora_adapter` in verl 0.9.1: meant for one call, it stays in the batch and switches off the critic's adapter."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from tensordict import TensorDict

from batchpact.contracts import stage
from batchpact.schemas import Arg, BatchSchema, ContractError, Meta, StageSchema
from tests.findings.contracts import PerToken, Sequence, found, step
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, jagged, put_rollout


class Engine:
    """A model with an adapter, of which nothing is asked but whether the adapter is on."""

    def __init__(self) -> None:
        self.adapter = True
        self.ran_with_adapter: list[bool] = []

    def eval_mode(self, **options: Any) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def disable_adapter(self) -> Iterator[None]:
        self.adapter = False
        yield
        self.adapter = True

    def infer_batch(self, data: Any, loss_function: Any = None) -> dict[str, Any]:
        self.ran_with_adapter.append(self.adapter)
        return {}

    def is_mp_src_rank_with_outputs(self) -> bool:
        return False


class Critic:
    """verl's worker around that engine; it runs the worker's own `infer_batch`."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.model_config: dict[str, Any] = {}
        self.loss_fn = None
        self.engine_config = SimpleNamespace(
            use_dynamic_bsz=False,
            infer_max_token_len_per_gpu=8,
            infer_micro_batch_size_per_gpu=1,
            use_fused_kernels=False,
        )

    def infer_batch(self, data: TensorDict) -> None:
        from verl.workers.engine_workers import TrainingWorker

        inspect.unwrap(TrainingWorker.infer_batch)(self, data)


class Group:
    """A worker group: the extra info of each call, and what the workers write."""

    def __init__(self, queue: DictQueue, writes: str) -> None:
        self.calls: list[dict[str, Any]] = []
        self._queue, self._writes, self.futures = queue, writes, []

    def compute_log_prob(self, meta: Any) -> Any:
        self.calls.append(dict(meta.extra_info))
        inputs = self._queue.kv_batch_get(meta.keys, meta.partition_id, ["input_ids"])["input_ids"]
        columns = {self._writes: jagged([[-1.0] * len(row) for row in inputs.unbind()])}
        self._queue.kv_batch_put(meta.keys, meta.partition_id, TensorDict(columns, batch_size=len(meta.keys)))
        return meta

    def infer_batch(self, meta: Any) -> Group:
        self.compute_log_prob(meta)
        return self


def test_what_was_said_to_the_reference_is_said_to_the_critic(
    queue: DictQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl.trainer.ppo.v1 import trainer_base

    monkeypatch.setattr(trainer_base.ray, "get", lambda futures: futures)
    trainer = Trainer(algorithm__adv_estimator="gae", algorithm__use_kl_in_reward=True, critic__enable=True)
    trainer.ref_in_actor = True  # LoRA
    trainer.actor_rollout_wg, trainer.critic_wg = Group(queue, "log_probs"), Group(queue, "values")
    meta = put_rollout(queue, [1.0, 2.0], [3, 5], ["a", "a"])

    meta = trainer._compute_ref_log_prob(meta, {})
    trainer._compute_values(meta, {})

    assert trainer.actor_rollout_wg.calls[0]["no_lora_adapter"] is True
    assert trainer.critic_wg.calls == [
        {"calculate_entropy": False, "compute_loss": False, "temperature": 1.0, "no_lora_adapter": True}
    ]


def test_the_older_trainer_says_it_to_a_copy() -> None:
    from verl.protocol import DataProto
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer

    told: list[bool] = []

    def compute_log_prob(data: Any) -> TensorDict:
        told.append(data["no_lora_adapter"])
        return TensorDict({"log_probs": jagged([[-1.0] * 5] * 2)}, batch_size=2)

    trainer = SimpleNamespace(ref_in_actor=True, actor_rollout_wg=SimpleNamespace(compute_log_prob=compute_log_prob))
    sizes = {"prompts": 2, "responses": 3, "response_mask": 3, "input_ids": 5, "attention_mask": 5, "position_ids": 5}
    batch = DataProto.from_dict({name: torch.ones(2, size).long() for name, size in sizes.items()})

    RayPPOTrainer.__dict__["_compute_ref_log_prob"](trainer, batch)

    assert told == [True]
    assert batch.meta_info == {}


def leaked() -> TensorDict:
    """The batch as it reaches the critic's worker."""
    from verl.utils import tensordict_utils as tu

    data = TensorDict({"input_ids": jagged([[1, 2], [3, 4, 5]], torch.int64)}, batch_size=2)
    tu.assign_non_tensor(data, compute_loss=False, no_lora_adapter=True)
    return data


def test_the_critic_then_runs_without_its_own_adapter() -> None:
    critic = Critic()

    critic.infer_batch(leaked())

    assert critic.engine.ran_with_adapter == [False]


def test_the_check_finds_an_argument_that_was_written_into_the_batch() -> None:
    assert found(step, "BP003") == [
        "BP003 place compute_values: no_lora_adapter 'compute_ref_log_prob' writes meta bool; "
        "declared argument, passed with the call; "
        "what stands in the batch is not handed out for it; give it by keyword, and write nothing under its name; "
        "with algorithm.use_kl_in_reward=True, critic.enable=True, actor_rollout_ref.model.lora_rank=1"
    ]


class InferBatch(StageSchema):
    """What the critic's `infer_batch` reads, without arguments."""

    class Reads(BatchSchema):
        input_ids: Sequence
        compute_loss: Meta[bool]

    class Writes(BatchSchema):
        values: PerToken | None = None


class InferBatchWithArgument(InferBatch):
    """The same, where a call may say that the adapter is off."""

    class Reads(InferBatch.Reads):
        no_lora_adapter: Arg[bool] = False


def test_at_run_time_a_stage_that_does_not_declare_it_may_not_look() -> None:
    critic = Critic()

    with pytest.raises(ContractError) as caught:
        stage(InferBatch)(Critic.infer_batch)(critic, leaked())
    assert str(caught.value) == (
        "1 problem in stage 'infer_batch', which looked for a field it does not declare\n\n"
        "  BP002 withheld  no_lora_adapter  the caller's batch holds bool in meta_info; "
        "the Reads of 'infer_batch' do not declare it; add no_lora_adapter to them"
    )


def test_as_an_argument_it_goes_with_the_call_that_gives_it() -> None:
    critic = Critic()
    infer_batch = stage(InferBatchWithArgument)(Critic.infer_batch)

    infer_batch(critic, leaked())
    infer_batch(critic, leaked(), no_lora_adapter=True)
    infer_batch(critic, leaked())

    assert critic.engine.ran_with_adapter == [True, False, True]
