from batchpact.schemas import BatchSchema, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        uid: NonTensor[str]
        sample: NonTensor[str]

    class Writes(BatchSchema):
        uid: NonTensor[str]
        sample: NonTensor[str]
