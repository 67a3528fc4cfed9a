"""The same work on the workers of `WorkerGroup` and on verl's: three fields of thirteen are read, one is written."""

from __future__ import annotations

import os
from typing import Any

from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import stage
from batchpact.schemas import BatchSchema, StageSchema
from batchpact.schemas.rl import fields as f

try:
    from verl.protocol import DataProto as VerlBatch
    from verl.single_controller.base.decorator import Dispatch, register
    from verl.single_controller.base.worker import Worker as VerlBase
except ImportError:  # the module is read where verl is not installed, too
    VerlBase = object

READS = ("token_level_rewards", "values", "response_mask")


class Advantage(StageSchema):
    """What generalised advantage estimation reads, of the thirteen fields."""

    class Reads(BatchSchema):
        token_level_rewards: f.TokenLevelRewards
        values: Float32[Tensor, "batch response"]
        response_mask: f.ResponseMask

    class Writes(BatchSchema):
        advantages: f.Advantages


def advantage(rewards: Tensor, values: Tensor) -> Tensor:
    """Something that costs little beside the way there and back."""
    return rewards - values


class Critic:
    """A worker of ours."""

    @stage
    def compute_advantage(self, batch: Advantage.Reads) -> Advantage.Writes:
        return Advantage.Writes(advantages=advantage(batch.token_level_rewards, batch.values))


if VerlBase is not object:

    class VerlCritic(VerlBase):  # type: ignore[misc, valid-type]
        """A worker of verl's; it serialises as it is told."""

        @register(dispatch_mode=Dispatch.ONE_TO_ALL)
        def serialise_by(self, method: str) -> None:
            os.environ["VERL_DATAPROTO_SERIALIZATION_METHOD"] = method

        @register(dispatch_mode=Dispatch.DP_COMPUTE_PROTO)
        def compute_advantage(self, data: Any) -> Any:
            made = advantage(data.batch["token_level_rewards"], data.batch["values"])
            return VerlBatch.from_dict({"advantages": made})
