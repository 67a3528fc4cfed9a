from jaxtyping import Float32
from pydantic import ConfigDict
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        model_config = ConfigDict(extra="allow")

        x: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        model_config = ConfigDict(extra="allow")

        y: Float32[Tensor, "batch"]
