from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"] = Field(ge=0)

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"] = Field(ge=0)
