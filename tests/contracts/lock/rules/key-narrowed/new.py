from typing import Annotated

from batchpact.schemas import BatchSchema, Key, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        uid: NonTensor[str]
        sample: Annotated[NonTensor[str], Key()]

    class Writes(BatchSchema):
        uid: NonTensor[str]
        sample: Annotated[NonTensor[str], Key()]
