from typing import Annotated

from batchpact.schemas import Arg, BatchSchema, From, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Annotated[Arg[float], From("actor.clip")]
