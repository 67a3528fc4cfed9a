from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]
        clip: Arg[float]

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]
