from batchpact.schemas import BatchSchema, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: NonTensor[float]

    class Writes(BatchSchema):
        y: NonTensor[float]
