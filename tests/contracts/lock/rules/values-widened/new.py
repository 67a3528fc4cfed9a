from jaxtyping import Int64
from pydantic import Field
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Int64[Tensor, "batch"] = Field(ge=0)

    class Writes(BatchSchema):
        y: Int64[Tensor, "batch"] = Field(ge=0)
