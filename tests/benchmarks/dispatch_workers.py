"""The same work on the workers of `WorkerGroup` and on verl's: three fields of thirteen are read, one is written."""

from __future__ import annotations

import os
from typing import Any

import torch
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

READS = ("responses", "response_mask", "old_log_probs")


class Weigh(StageSchema):
    """Three reads of the thirteen fields."""

    class Reads(BatchSchema):
        responses: f.Responses
        response_mask: f.ResponseMask
        old_log_probs: f.OldLogProbs

    class Writes(BatchSchema):
        advantages: f.Advantages


def weigh(old_log_probs: Tensor, response_mask: Tensor) -> Tensor:
    """Something that costs little beside the way there and back."""
    return torch.where(response_mask.bool(), old_log_probs, 0.0)


class Weigher:
    """A worker of ours."""

    @stage
    def weigh(self, batch: Weigh.Reads) -> Weigh.Writes:
        return Weigh.Writes(advantages=weigh(batch.old_log_probs, batch.response_mask))


if VerlBase is not object:

    class VerlWeigher(VerlBase):  # type: ignore[misc, valid-type]
        """A worker of verl's; it serialises as it is told."""

        @register(dispatch_mode=Dispatch.ONE_TO_ALL)
        def serialise_by(self, method: str) -> None:
            os.environ["VERL_DATAPROTO_SERIALIZATION_METHOD"] = method

        @register(dispatch_mode=Dispatch.DP_COMPUTE_PROTO)
        def weigh(self, data: Any) -> Any:
            held = data.batch
            return VerlBatch.from_dict({"advantages": weigh(held["old_log_probs"], held["response_mask"])})
