from typing import Literal

from batchpact.schemas import BatchSchema, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Meta[Literal["sync", "async"]]

    class Writes(BatchSchema):
        y: Meta[Literal["sync", "async"]]
