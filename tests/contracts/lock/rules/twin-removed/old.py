from typing import Annotated

from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, SameAs, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        mask: Float32[Tensor, "batch"]
        x: Annotated[Float32[Tensor, "batch"], SameAs("mask")]

    class Writes(BatchSchema):
        mask: Float32[Tensor, "batch"]
        y: Annotated[Float32[Tensor, "batch"], SameAs("mask")]
