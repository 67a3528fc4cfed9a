from typing import Annotated

from jaxtyping import Int64
from torch import Tensor

from batchpact.schemas import BatchSchema, Binary, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[Int64[Tensor, "batch"], Binary()]

    class Writes(BatchSchema):
        y: Annotated[Int64[Tensor, "batch"], Binary()]
