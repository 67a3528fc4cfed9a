from batchpact.schemas import BatchSchema, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: NonTensor[int]

    class Writes(BatchSchema):
        y: NonTensor[int]
