from batchpact.schemas import BatchSchema, NonTensor, StageSchema, Tag


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Tag[float]

    class Writes(BatchSchema):
        y: NonTensor[float]
