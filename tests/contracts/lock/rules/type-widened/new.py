from batchpact.schemas import BatchSchema, Meta, StageSchema


class Score(StageSchema):
    class Reads(BatchSchema):
        x: Meta[dict[str, float]]

    class Writes(BatchSchema):
        y: Meta[dict[str, float]]
