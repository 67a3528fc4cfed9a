from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema, rule


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch response"]

        @rule
        def ordered(self) -> Tensor:
            """the values rise"""
            return (self.x.diff(dim=1) >= 0).all(dim=1)

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch response"]

        @rule
        def ordered(self) -> Tensor:
            """the values rise"""
            return (self.y.diff(dim=1) >= 0).all(dim=1)
