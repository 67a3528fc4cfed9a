from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, Columns, NonTensor, StageSchema, config, named_by


class Score(StageSchema):
    class Reads(BatchSchema):
        scores: Columns[NonTensor[float]] = named_by(config("reward.extra_keys"))

    class Writes(BatchSchema):
        scaled: Columns[Float32[Tensor, "batch"]] = named_by(config("reward.extra_keys"))
