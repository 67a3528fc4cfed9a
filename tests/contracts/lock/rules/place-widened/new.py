from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Meta[float] | Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        y: Meta[float] | Float32[Tensor, "batch"]
