from typing import Annotated

from batchpact.schemas import BatchSchema, From, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[Meta[float], From("rollout.temperature")]

    class Writes(BatchSchema):
        y: Annotated[Meta[float], From("rollout.temperature")]
