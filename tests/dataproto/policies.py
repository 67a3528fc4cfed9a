"""A schema with every policy, and batches that keep to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from hypothesis import strategies as st
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Fill, Group, Jagged, Key, Merge, Meta, NonTensor, Pad
from tests.dataproto.support import jagged, plain


def policy_of(key: str) -> Merge:
    return Merge("sum" if key.endswith("tokens") else "collect")


class Rollout(BatchSchema):
    """A batch as RL has it: prompts end, and responses start, where the two of them meet."""

    prompts: Annotated[Int64[Tensor, "batch prompt"], Pad(0, "left")]
    responses: Annotated[Int64[Tensor, "batch response"], Pad(0)]
    input_ids: Annotated[Int64[Tensor, "batch prompt+response"], Pad(0, {"prompt": "left", "response": "right"})]
    turns: Annotated[Int64[Tensor, "batch turn"], Jagged("turn"), Pad(-1)]
    scores: Annotated[Float32[Tensor, "batch response"], Fill(0.0), Pad(-1.0)] | None = None
    turn_scores: Annotated[Float32[Tensor, "batch turn"], Jagged("turn"), Fill(0.5)] | None = None
    tool: Annotated[NonTensor[str], Fill("none")] | None = None
    acc: Annotated[NonTensor[float], Fill(-1.0), Pad(0.0)] | None = None
    uid: Annotated[NonTensor[str], Key(), Pad("")]
    group: Annotated[NonTensor[str], Group()]
    step: Meta[int]
    tokens: Annotated[Meta[int], Merge("sum")]
    loss: Annotated[Meta[float], Merge("mean")]
    best: Annotated[Meta[float], Merge("max")]
    errors: Annotated[Meta[list[str]], Merge("collect")]
    tags: Annotated[Meta[list[str]], Merge("set_union")]
    timing: Annotated[Meta[dict[str, float]], Merge.close(1e-3)]
    host: Annotated[Meta[str], Merge("first")]
    figures: Annotated[Meta[dict[str, Any]], Merge.by_key(policy_of)]


OPTIONAL: dict[str, str] = {"scores": "tensor", "turn_scores": "tensor", "tool": "non_tensor", "acc": "non_tensor"}


def meta() -> dict[str, Any]:
    """Values that would be others if they were merged with themselves, wherever a policy allows that."""
    return {
        "step": 3,
        "tokens": 100,
        "loss": 0.1,
        "best": 2.5,
        "errors": ["late", "late"],
        "tags": ["a", "b", "a"],
        "timing": {"gen": 1.5},
        "host": "node-0",
        "figures": {"tokens": 5, "reward": 0.5},
        "metrics": {"loss": 1.0},
        "free": [1, 2],
    }


def rollout(
    rows: int, *, prompt: int = 2, response: int = 3, seed: int = 0, optional: Sequence[str] = tuple(OPTIONAL)
) -> DataProto:
    """A batch that is bound to `Rollout`; the keys of its rows begin with the seed."""
    rng = np.random.default_rng(seed)
    prompts = torch.from_numpy(rng.integers(1, 99, (rows, prompt)))
    responses = torch.from_numpy(rng.integers(1, 99, (rows, response)))
    lengths = rng.integers(0, 4, rows).tolist()
    tensors: dict[str, Any] = {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses], dim=1),
        "turns": jagged(*(rng.integers(1, 9, length).tolist() for length in lengths)),
        "scores": torch.from_numpy(rng.normal(size=(rows, response)).astype(np.float32)),
        "turn_scores": jagged(*(rng.normal(size=length).tolist() for length in lengths), dtype=torch.float32),
        "extra": torch.from_numpy(rng.normal(size=(rows, 2))),
    }
    columns: dict[str, Any] = {
        "tool": [f"tool-{x}" for x in rng.integers(0, 3, rows)],
        "acc": rng.random(rows),
        "uid": [f"{seed}-{row}" for row in range(rows)],
        "group": [f"g{row // 2}" for row in range(rows)],
    }
    left_out = set(OPTIONAL) - set(optional)
    data = DataProto.from_dict(
        {key: value for key, value in tensors.items() if key not in left_out},
        {key: value for key, value in columns.items() if key not in left_out},
        meta(),
    )
    return data.bind(Rollout)


@st.composite
def rollouts(draw: st.DrawFn, *, least: int = 0, most: int = 5, seed: int | None = None) -> DataProto:
    """Batches that are bound to `Rollout`, of any length and with any of the optional fields."""
    return rollout(
        draw(st.integers(least, most)),
        prompt=draw(st.integers(0, 3)),
        response=draw(st.integers(0, 3)),
        seed=draw(st.integers(0, 99)) if seed is None else seed,
        optional=sorted(draw(st.sets(st.sampled_from(sorted(OPTIONAL))))),
    )


def by_uid(data: DataProto) -> dict[str, dict[str, str]]:
    """Every row as text, by its key: the same whatever the order of the rows."""
    return {
        data.non_tensor_batch["uid"][row]: {k: v for k, v in plain(data[row : row + 1]).items() if k[:4] != "meta"}
        for row in range(len(data))
    }


def snapshot(batch: DataProto) -> tuple[Any, ...]:
    """What a batch holds and says of its rows, to be compared with later."""
    names = [*batch.stores().tensors, *batch.stores().columns]
    return plain(batch), batch.pad_mask.tolist(), {key: batch.presence(key).tolist() for key in names}
