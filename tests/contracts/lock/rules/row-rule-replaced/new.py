from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, StageSchema, rule


class Rising(BatchSchema):
    @rule
    def ordered(self) -> Tensor:
        """the values rise"""
        return (self.x.diff(dim=1) >= 0).all(dim=1)


class Falling(BatchSchema):
    @rule
    def ordered(self) -> Tensor:
        """the values rise"""
        return (self.x.diff(dim=1) <= 0).all(dim=1)


class Score(StageSchema):
    class Reads(Falling):
        x: Float32[Tensor, "batch response"]

    class Writes(Falling):
        x: Float32[Tensor, "batch response"]
