from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    """Score each response."""

    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"] = Field(description="the score of a response")

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]
