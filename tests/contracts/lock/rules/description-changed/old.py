from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    """Score."""

    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"] = Field(description="the score")

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]
