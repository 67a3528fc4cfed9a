from batchpact.schemas import BatchSchema, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: NonTensor[str]

    class Writes(BatchSchema):
        y: NonTensor[str]
