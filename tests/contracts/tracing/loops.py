"""A loop as somebody writes it who knows of no contract: its functions, and a step of it."""

from __future__ import annotations

from typing import Any

import torch

from batchpact.dataproto import DataProto


def generate(data: DataProto, n: int) -> DataProto:
    """Rows are repeated, and written into."""
    out = data.repeat(n)
    prompts = out.batch["prompts"]
    responses = torch.ones(len(prompts), 4, dtype=torch.int64)
    out.batch["responses"] = responses
    out.batch["input_ids"] = torch.cat([prompts, responses], dim=1)
    return out


def reward(data: DataProto) -> torch.Tensor:
    """What it returns is no batch; the loop puts it into one."""
    if "rm_scores" in data.batch.keys():
        return data.batch["rm_scores"]
    return torch.zeros(data.batch["responses"].shape)


def advantage(data: DataProto, use_kl: bool) -> DataProto:
    """It changes its batch in place."""
    scores = data.batch["token_level_scores"]
    if use_kl:
        scores = scores - data.meta_info.get("kl", 0.0)
    data.batch["advantages"] = scores.clone()
    del data.meta_info["kl"]
    return data


def whitened(advantages: torch.Tensor, mask: torch.Tensor, epsilon: float = 1e-8) -> torch.Tensor:
    """A function of plain values."""
    return advantages * mask / (advantages.std() + epsilon)


def prompts(rows: int = 3) -> DataProto:
    """What a step starts with."""
    return DataProto.from_dict(
        {"prompts": torch.ones(rows, 3, dtype=torch.int64)}, {"uid": list("abc")}, {"temperature": 1.0, "kl": 0.5}
    )


def step(config: dict[str, Any]) -> DataProto:
    """One round."""
    batch = generate(prompts(), config["rollout"]["n"])
    batch.batch["token_level_scores"] = reward(batch)
    batch = advantage(batch, config["algorithm"]["use_kl"])
    batch.batch["response_mask"] = torch.ones_like(batch.batch["responses"])
    batch.batch["advantages"] = whitened(batch.batch["advantages"], batch.batch["response_mask"])
    return batch


def configured(*, use_kl: bool, n: int = 2) -> dict[str, Any]:
    return {"algorithm": {"use_kl": use_kl}, "rollout": {"n": n}}
