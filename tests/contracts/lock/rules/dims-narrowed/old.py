from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        mask: Float32[Tensor, "batch response"]
        x: Float32[Tensor, "batch _"]

    class Writes(BatchSchema):
        mask: Float32[Tensor, "batch response"]
        y: Float32[Tensor, "batch _"]
