from jaxtyping import BFloat16
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: BFloat16[Tensor, "batch"]

    class Writes(BatchSchema):
        y: BFloat16[Tensor, "batch"]
