from batchpact.schemas import BatchSchema, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Meta[float] = 1.0

    class Writes(BatchSchema):
        y: Meta[float] = 1.0
