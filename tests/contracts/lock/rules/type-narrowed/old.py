from batchpact.schemas import BatchSchema, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Meta[int | str]

    class Writes(BatchSchema):
        y: Meta[int | str]
