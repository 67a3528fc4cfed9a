from batchpact.schemas import BatchSchema, NonTensor, StageSchema, Tag


class Score(StageSchema):
    class Reads(BatchSchema):
        x: NonTensor[float]

    class Writes(BatchSchema):
        y: Tag[float]
