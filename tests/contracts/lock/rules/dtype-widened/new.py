from jaxtyping import Shaped
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Shaped[Tensor, "batch"]

    class Writes(BatchSchema):
        y: Shaped[Tensor, "batch"]
