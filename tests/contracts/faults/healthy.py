"""A small trainer without a fault; `faulty.py` is the same with one fault planted at each marked line."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import Pipeline, stage, when
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Group, Meta, NonTensor, Repeat, SameAs, StageSchema, When, config

Tokens = Int64[Tensor, "batch response"]
PerToken = Float32[Tensor, "batch response"]
PerRow = Float32[Tensor, "batch"]
CRITIC = (config("algorithm.adv_estimator") == "gae").named("use_critic")
REJECT = config("algorithm.rejection_sampling")


class Prompts(BatchSchema):
    prompts: Int64[Tensor, "batch prompt"]
    uid: Annotated[NonTensor[str], Group()]
    temperature: Meta[float]


class Generate(StageSchema):
    rows = Repeat("rollout.n")

    class Reads(BatchSchema):
        prompts: Int64[Tensor, "batch prompt"]
        temperature: Meta[float]

    class Writes(BatchSchema):
        responses: Tokens
        response_mask: Tokens
        loss_mask: Annotated[Tokens, SameAs("response_mask")]


class Score(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens
        uid: NonTensor[str]

    class Writes(BatchSchema):
        scores: PerRow


class Reject(StageSchema):
    class Reads(BatchSchema):
        response_mask: Tokens
        scores: PerRow

    class Writes(BatchSchema):
        response_mask: Tokens
        loss_mask: Annotated[Tokens, SameAs("response_mask")]


class Values(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens

    class Writes(BatchSchema):
        values: PerToken


class Advantage(StageSchema):
    class Reads(BatchSchema):
        scores: PerRow
        response_mask: Tokens
        values: Annotated[PerToken, When(CRITIC)]

    class Writes(BatchSchema):
        advantages: PerToken


class Update(StageSchema):
    class Reads(BatchSchema):
        responses: Tokens
        advantages: PerToken
        loss_mask: Tokens
        temperature: Meta[float]

    class Writes(BatchSchema):
        metrics: Meta[dict[str, float]]


@stage(Score)
def score(data: DataProto) -> DataProto:
    rows = [float(len(uid)) for uid in data.non_tensor_batch["uid"]]
    return DataProto.from_dict({"scores": torch.tensor(rows) + data.batch["responses"].sum(1)})


@stage(Reject)
def reject(data: DataProto) -> DataProto:
    kept = data.batch["response_mask"] * (data.batch["scores"] > 0).unsqueeze(1)
    return DataProto.from_dict({"response_mask": kept, "loss_mask": kept})


@stage(Advantage)
def advantage(data: DataProto) -> DataProto:
    spread = data.batch["scores"].unsqueeze(1) * data.batch["response_mask"]
    if "values" in data.batch.keys():
        spread = spread - data.batch["values"]
    return DataProto.from_dict({"advantages": spread})


@stage(Update)
def update(data: DataProto) -> DataProto:
    loss = (data.batch["advantages"] * data.batch["loss_mask"]).mean() / data.meta_info["temperature"]
    tokens = data.batch["responses"].numel()
    return DataProto.from_dict(meta_info={"metrics": {"loss": float(loss), "tokens": float(tokens)}})


trainer = Pipeline(
    "trainer",
    inputs=Prompts,
    stages=[Generate, score, when(REJECT, reject), when(CRITIC, Values), advantage, update],
    outputs=["metrics"],
)
