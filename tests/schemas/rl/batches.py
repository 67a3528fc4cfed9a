"""Healthy batches of a step, dense and jagged: two prompts with two answers each, one of them with a tool's answer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from batchpact.schemas.stores import Stores

from ..support import objects

ROWS, PROMPT, RESPONSE = 4, 3, 5
PROMPT_LENGTHS, RESPONSE_LENGTHS = (3, 3, 2, 2), (5, 4, 3, 5)
TOOL = (3, 2)
"""The row and the column of the one token that a tool answered."""


def texts() -> dict[str, Tensor]:
    """The tensors that a rollout writes, dense."""
    generator = torch.Generator().manual_seed(7)
    prompts = torch.zeros(ROWS, PROMPT, dtype=torch.int64)
    responses = torch.zeros(ROWS, RESPONSE, dtype=torch.int64)
    mask = torch.zeros(ROWS, PROMPT + RESPONSE, dtype=torch.int64)
    for row, (asked, answered) in enumerate(zip(PROMPT_LENGTHS, RESPONSE_LENGTHS, strict=True)):
        prompts[row, PROMPT - asked :] = torch.arange(10, 10 + asked) + 10 * (row // 2)
        responses[row, :answered] = torch.randint(50, 90, (answered,), generator=generator)
        mask[row, PROMPT - asked : PROMPT + answered] = 1
    response_mask = mask[:, PROMPT:].clone()
    response_mask[TOOL] = 0
    return {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses], dim=1),
        "attention_mask": mask,
        "position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0),
        "response_mask": response_mask,
    }


def per_token() -> dict[str, Tensor]:
    """What the stages after the rollout write for each response token, dense."""
    generator = torch.Generator().manual_seed(8)
    made = texts()
    tail, mask = made["attention_mask"][:, PROMPT:], made["response_mask"]
    last = torch.arange(ROWS), tail.sum(dim=1) - 1

    def noise() -> Tensor:
        return torch.rand(ROWS, RESPONSE, generator=generator)

    scores = torch.zeros(ROWS, RESPONSE)
    scores[last] = torch.tensor([1.0, 0.0, 0.5, 1.0])
    log_probs = ("rollout_log_probs", "old_log_probs", "ref_log_prob")
    return {
        **{name: -noise() * tail for name in log_probs},
        **{name: scores.clone() for name in ("rm_scores", "token_level_scores", "token_level_rewards")},
        "entropys": noise() * tail,
        "sum_pi_squared": noise(),
        "rollout_is_weights": noise() * mask,
        "values": noise() * tail,
        "advantages": (noise() - 0.5) * mask,
        "returns": noise() * mask,
    }


def columns() -> dict[str, Any]:
    """The columns of a step."""
    return {
        "uid": objects("a", "a", "b", "b"),
        "data_source": objects(*["math"] * ROWS),
        "reward_model": objects(*[{"ground_truth": "4"}] * ROWS),
        "extra_info": objects(*[{}] * ROWS),
        "raw_prompt": objects(*[[{"role": "user", "content": "2+2?"}] for _ in range(ROWS)]),
        "__num_turns__": objects(2, 2, 2, 4),
        "multi_modal_inputs": objects(*[{} for _ in range(ROWS)]),
    }


def meta() -> dict[str, Any]:
    """The meta of a step."""
    return {
        "temperature": 1.0,
        "global_steps": 1,
        "global_token_num": [8, 7, 5, 7],
        "images_seqlens": [],
        "reward_extra_keys": ["acc"],
        "metrics": {"loss": 0.5},
    }


def dense(**changes: Tensor) -> Stores:
    """The whole batch of a step, with tensors changed or added."""
    tensors = {**texts(), **per_token(), "reward_baselines": torch.rand(ROWS), **changes}
    return Stores(tensors=tensors, columns=columns(), meta=meta())


def jagged(**changes: Tensor) -> Stores:
    """The same batch without padding, as the newer trainer has it."""
    made = {**texts(), **per_token()}
    whole = made.pop("attention_mask").bool()
    tail = whole[:, PROMPT:]
    masks = {"prompts": whole[:, :PROMPT], "input_ids": whole, "position_ids": whole}
    tensors = {name: ragged(value, masks.get(name, tail)) for name, value in made.items()}
    tensors["loss_mask"] = ragged(texts()["response_mask"], tail)
    return Stores(tensors={**tensors, **changes}, columns=columns(), meta=meta())


def ragged(value: Tensor, mask: Tensor) -> Tensor:
    """A dense tensor without its padding."""
    rows = [row[kept] for row, kept in zip(value, mask, strict=True)]
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)
