from typing import Annotated

from batchpact.schemas import BatchSchema, Merge, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[Meta[float], Merge("mean")]

    class Writes(BatchSchema):
        y: Annotated[Meta[float], Merge("mean")]
