from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]
