from typing import Annotated

from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema, When, config


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[Float32[Tensor, "batch"], When(config("algorithm.estimator") == "gae")]

    class Writes(BatchSchema):
        y: Annotated[Float32[Tensor, "batch"], When(config("algorithm.estimator") == "gae")]
