from batchpact.schemas import Arg, BatchSchema, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Arg[float]
