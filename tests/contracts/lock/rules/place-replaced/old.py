from batchpact.schemas import BatchSchema, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Meta[float]

    class Writes(BatchSchema):
        y: Meta[float]
