"""Functions of verl 0.9.1 under contracts that describe them: the idioms are those of a real trainer."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.peers
ray_trainer = pytest.importorskip("verl.trainer.ppo.ray_trainer")
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
losses = pytest.importorskip("verl.workers.utils.losses")
padding = pytest.importorskip("verl.workers.utils.padding")
naive = pytest.importorskip("verl.workers.reward_manager.naive")

from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import contract_of, stage
from batchpact.contracts.lint.linter import lint
from batchpact.schemas import BatchSchema, Meta, NonTensor, StageSchema

PerToken = Float32[Tensor, "batch response"]
Mask = Int64[Tensor, "batch response"]
Tokens = Int64[Tensor, "batch prompt+response"]


class ApplyKlPenalty(StageSchema):
    class Reads(BatchSchema):
        response_mask: Mask
        token_level_scores: PerToken
        old_log_probs: PerToken
        ref_log_prob: PerToken

    class Writes(BatchSchema):
        token_level_rewards: PerToken


class ComputeAdvantage(StageSchema):
    """What the newer trainer hands to it, and what it gives."""

    class Reads(BatchSchema):
        token_level_rewards: PerToken
        token_level_scores: PerToken
        responses: Mask
        attention_mask: Tokens
        uid: NonTensor[str]
        response_mask: Mask | None = None
        values: PerToken | None = None

    class Writes(BatchSchema):
        advantages: PerToken
        returns: PerToken
        response_mask: Mask | None = None


class Loss(StageSchema):
    graph = "allow"

    class Reads(BatchSchema):
        prompts: Int64[Tensor, "batch prompt"]
        responses: Mask
        attention_mask: Tokens
        response_mask: Mask
        old_log_probs: PerToken
        advantages: PerToken
        ref_log_prob: PerToken | None = None
        rollout_is_weights: PerToken | None = None
        max_response_len: Meta[int] | None = None
        dp_size: Meta[int]
        batch_num_tokens: Meta[int]
        global_batch_size: Meta[int]


def findings(function: Callable[..., Any], schema: type[StageSchema], *, undecidable: bool = False) -> list[str]:
    """What the linter says, with the line of code that it points at."""
    boundary = contract_of(stage(schema)(function))
    assert boundary is not None
    report = lint([boundary], undecidable=undecidable).report
    places = [(finding, finding.where.file or "", finding.where.line or 0) for finding in report.findings]
    return [f"{finding.code} {finding.field}: {linecache.getline(*place).strip()}" for finding, *place in places]


def test_a_contract_that_describes_the_kl_penalty() -> None:
    assert findings(ray_trainer.apply_kl_penalty, ApplyKlPenalty, undecidable=True) == []


def test_a_contract_that_leaves_something_out() -> None:
    class Partial(StageSchema):
        class Reads(BatchSchema):
            response_mask: Mask
            token_level_scores: PerToken
            old_log_prob: PerToken
            uid: NonTensor[str]

        class Writes(BatchSchema):
            rewards: PerToken

    assert findings(ray_trainer.apply_kl_penalty, Partial) == [
        "BP074 old_log_prob: def apply_kl_penalty(data: DataProto, kl_ctrl: core_algos.AdaptiveKLController, "
        'kl_penalty="kl"):',
        'BP074 uid: def apply_kl_penalty(data: DataProto, kl_ctrl: core_algos.AdaptiveKLController, kl_penalty="kl"):',
        "BP075 rewards: def apply_kl_penalty(data: DataProto, kl_ctrl: core_algos.AdaptiveKLController, "
        'kl_penalty="kl"):',
        'BP071 old_log_probs: data.batch["old_log_probs"], data.batch["ref_log_prob"], kl_penalty=kl_penalty',
        'BP071 ref_log_prob: data.batch["old_log_probs"], data.batch["ref_log_prob"], kl_penalty=kl_penalty',
        'BP072 token_level_rewards: data.batch["token_level_rewards"] = token_level_rewards',
    ]


def test_the_fields_that_the_list_of_the_newer_trainer_lacks() -> None:
    """Its estimators read more than it hands out: there four of them die. They are found through their registry."""
    assert findings(ray_trainer.compute_advantage, ComputeAdvantage) == [
        'BP071 prompts: prompt_length = batch["prompts"].size(1)',
        'BP071 reward_baselines: if "reward_baselines" in data.batch:  # optional',
        'BP071 reward_baselines: adv_kwargs["reward_baselines"] = data.batch["reward_baselines"]',
        'BP071 sum_pi_squared: assert "sum_pi_squared" in data.batch, (',
        'BP071 sum_pi_squared: adv_kwargs["sum_pi_squared"] = data.batch["sum_pi_squared"]',
        'BP071 old_log_probs: adv_kwargs["old_log_probs"] = data.batch["old_log_probs"]',
        'BP071 rollout_is_weights: rollout_is_weights = data.batch.get("rollout_is_weights", None)',
    ]


def test_a_loss_on_a_tensordict_whose_list_of_names_grows() -> None:
    assert findings(losses.ppo_loss, Loss) == []


def test_rows_of_a_dataproto_one_by_one() -> None:
    class Reward(StageSchema):
        class Reads(BatchSchema):
            prompts: Int64[Tensor, "batch prompt"]
            responses: Mask
            attention_mask: Tokens
            rm_scores: PerToken | None = None
            reward_model: NonTensor[dict[str, str]]
            extra_info: NonTensor[dict[str, str]] | None = None
            reward_scores: NonTensor[dict[str, float]] | None = None
            reward_extra_keys: Meta[list[str]] | None = None

    assert findings(naive.NaiveRewardManager.__call__, Reward) == [
        'BP071 __num_turns__: num_turns = data_item.non_tensor_batch.get("__num_turns__", None)'
    ]


def test_padding_that_goes_through_helpers_of_a_tensordict() -> None:
    class WithoutPadding(StageSchema):
        class Reads(BatchSchema):
            input_ids: Tokens
            attention_mask: Tokens
            response_mask: Mask
            position_ids: Tokens

        class Writes(BatchSchema):
            input_ids: Tokens
            position_ids: Tokens
            loss_mask: Mask

    found = findings(padding.left_right_2_no_padding, WithoutPadding)

    assert [text.partition(":")[0] for text in found] == [
        "BP072 max_seq_len",
        "BP072 max_response_len",
        "BP072 indices",
        "BP071 routed_experts",
        "BP072 routed_experts",
        "BP071 teacher_logprobs",
        "BP071 teacher_ids",
        "BP072 teacher_logprobs",
        "BP072 teacher_ids",
    ]
