from typing import Annotated

from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import Arg, BatchSchema, From, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]
        mask: Float32[Tensor, "batch"] | None = None
        clip: Annotated[Arg[float], From("actor.clip")]

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]
        z: Float32[Tensor, "batch"] | None = None
