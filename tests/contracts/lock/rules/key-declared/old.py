from typing import Annotated

from batchpact.schemas import BatchSchema, Group, NonTensor, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[NonTensor[str], Group()]

    class Writes(BatchSchema):
        y: Annotated[NonTensor[str], Group()]
