from jaxtyping import Float
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float[Tensor, "batch"]

    class Writes(BatchSchema):
        y: Float[Tensor, "batch"]
