from jaxtyping import Float32
from torch import Tensor

from batchpact.contracts import Pipeline, stage
from batchpact.schemas import BatchSchema, StageSchema


class Start(BatchSchema):
    x: Float32[Tensor, "batch"]


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Float32[Tensor, "batch"]

    class Writes(BatchSchema):
        y: Float32[Tensor, "batch"]


@stage(name="score")
def by_rule(batch: Score.Reads) -> Score.Writes:
    return Score.Writes(y=batch.x)


@stage(name="score")
def by_model(batch: Score.Reads) -> Score.Writes:
    return Score.Writes(y=batch.x.exp())


ppo = Pipeline("ppo", inputs=Start, stages=[by_rule])
