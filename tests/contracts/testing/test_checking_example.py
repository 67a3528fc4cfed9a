"""The stages of the example on samples. Those that run its model are given tokens that it knows, and their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from batchpact.contracts import contract_of
from batchpact.contracts.testing import check_stage
from batchpact.schemas import ContractError
from grpo_arithmetic import tokenizer
from grpo_arithmetic.model import count_positions
from grpo_arithmetic.pipeline import grpo_stages
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.stages.advantage import compute_advantage, kl_in_reward, use_scores
from grpo_arithmetic.stages.reward import score_answers

SETTINGS = Settings(width=8, layers=1, heads=2)
ROWS = 5


def tokens() -> dict[str, object]:
    """Prompts and responses of some length, as the rollout makes them."""
    mask = torch.ones(ROWS, SETTINGS.prompt_length + SETTINGS.response_length, dtype=torch.int64)
    for row in range(ROWS):
        mask[row, :row] = 0
        mask[row, mask.shape[1] - row // 2 :] = 0
    torch.manual_seed(0)
    ids = torch.randint(tokenizer.PAD_ID, mask.shape)
    return {
        "input_ids": torch.where(mask.bool(), ids, tokenizer.PAD_ID),
        "attention_mask": mask,
        "position_ids": count_positions(mask),
    }


def staged(name: str) -> Callable[..., Any]:
    stages = grpo_stages(Policy(SETTINGS))
    return next(each for each in stages if (contract := contract_of(each)) is not None and contract.name == name)


@pytest.mark.parametrize("stage", [kl_in_reward, use_scores, compute_advantage, score_answers])
def test_a_function_is_sound(stage: Callable[..., Any]) -> None:
    check_stage(stage)


@pytest.mark.parametrize("name", ["compute_old_log_prob", "compute_ref_log_prob"])
def test_log_probs_are_sound_on_tokens_of_the_model(name: str) -> None:
    check_stage(staged(name), overrides=tokens(), dims={"response": SETTINGS.response_length})


def test_the_update_is_sound_on_tokens_of_the_model() -> None:
    """It trains a copy of the policy in each run."""
    check_stage(staged("update_actor"), overrides=tokens(), dims={"response": SETTINGS.response_length})


def test_the_rollout_is_sound_on_one_row_and_more() -> None:
    check_stage(staged("generate"), rows=(3, 1), dims={"prompt": SETTINGS.prompt_length})


def test_the_rollout_cannot_do_without_a_row() -> None:
    with pytest.raises(ContractError, match=r"reshape .*; with no row: draw\(0, seed=0\)"):
        check_stage(staged("generate"), samples=1, dims={"prompt": SETTINGS.prompt_length})


def test_tokens_that_the_model_does_not_know_are_found() -> None:
    """The contract has no bound for them: the vocabulary is that of a model."""
    with pytest.raises(ContractError, match=r"it raises IndexError: index out of range in self; .*; with 5 rows: "):
        check_stage(staged("compute_old_log_prob"), samples=1)
