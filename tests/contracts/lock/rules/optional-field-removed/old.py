from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]
        mask: Float32[Tensor, "batch"] | None = None

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]
        z: Float32[Tensor, "batch"] | None = None
