from typing import Annotated

from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, Name, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[Float32[Tensor, "batch"], Name("__x__")]

    class Writes(BatchSchema):
        y: Annotated[Float32[Tensor, "batch"], Name("__y__")]
