"""A stage that does wrong where its batch says so, in a module that Ray's workers can import."""

from __future__ import annotations

import os
import time
from typing import Annotated, Any

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from batchpact.contracts import stage, this_worker
from batchpact.dataproto import DataProto
from batchpact.schemas import BatchSchema, Finite, Meta, NonTensor, StageSchema


class Total(StageSchema):
    """Adds up each row; `fault` says what goes wrong, and on which rank."""

    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        mask: Int64[Tensor, "batch response"]
        uid: NonTensor[str]
        fault: Meta[str]
        rank: Meta[int]

    class Writes(BatchSchema):
        row_sums: Annotated[Float32[Tensor, "batch"], Finite()]
        who: NonTensor[str]


class Faulty:
    @stage(Total)
    def total(self, data: DataProto) -> Any:
        assert data.batch is not None
        rewards = data.batch["rewards"]
        tensors = {"row_sums": (rewards * data.batch["mask"]).sum(-1)}
        columns: dict[str, Any] = {"who": [f"{uid}!" for uid in data.non_tensor_batch["uid"]]}
        fault = data.meta_info["fault"] if this_worker().rank == data.meta_info["rank"] else ""
        if fault == "raise":
            raise ValueError("out of tokens")
        if fault == "die":
            os._exit(3)
        if fault == "dtype":
            tensors["row_sums"] = tensors["row_sums"].double()
        if fault == "shape":
            tensors["row_sums"] = tensors["row_sums"][:, None]
        if fault == "rows":
            tensors, columns = {"row_sums": tensors["row_sums"][1:]}, {"who": columns["who"][1:]}
        if fault == "undeclared":
            tensors["bonus"] = tensors["row_sums"]
        if fault == "missing":
            columns = {}
        if fault == "place":
            columns["row_sums"] = tensors.pop("row_sums").tolist()
        if fault == "graph":
            tensors["row_sums"] = torch.nn.Parameter(torch.ones(())) * tensors["row_sums"]
        if fault == "in place":
            rewards.add_(1.0)
        if fault == "peek":
            data.batch.get("unused")
        if fault == "nothing":
            return None
        return DataProto.from_dict(tensors, columns)


class Slow(StageSchema):
    class Reads(BatchSchema):
        rewards: Float32[Tensor, "batch response"]
        seconds: Meta[float]

    class Writes(BatchSchema):
        row_sums: Float32[Tensor, "batch"]


class Sleeper:
    @stage(Slow)
    def slow(self, data: DataProto) -> DataProto:
        assert data.batch is not None
        time.sleep(data.meta_info["seconds"])
        return DataProto.from_dict({"row_sums": data.batch["rewards"].sum(-1)})

    def node(self) -> str:
        """The id of the node that this worker is on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())
