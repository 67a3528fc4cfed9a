from typing import Annotated

from batchpact.schemas import BatchSchema, Key, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[NonTensor[str], Key()]

    class Writes(BatchSchema):
        y: Annotated[NonTensor[str], Key()]
