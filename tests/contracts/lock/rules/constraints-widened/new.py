from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Pipeline
from batchpact.schemas import BatchSchema, StageSchema, config


class Start(BatchSchema):
    x: Float32[Tensor, "batch"]


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]


class Update(StageSchema):
    class Reads(BatchSchema):
        y: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        z: Float32[Tensor, "batch"]


class Log(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        w: Float32[Tensor, "batch"]


ppo = Pipeline("ppo", inputs=Start, stages=[Score, Update], always=[config("trainer.mode").isin(["sync", "async"])])
