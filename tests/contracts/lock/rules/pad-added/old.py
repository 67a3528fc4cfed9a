from jaxtyping import Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Int64[Tensor, "batch length"]

    class Writes(BatchSchema):
        y: Int64[Tensor, "batch length"]
