"""What the models say, in the newer trainer."""

from __future__ import annotations

import pytest
import torch

from batchpact.schemas import StageSchema
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.rl.queue import engines

from ..stages import names, passes, queue_batch, stages_in


@pytest.mark.parametrize("stage", stages_in(engines), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, queue_batch())


class InferVisionActor(engines.InferActor):
    """The actor, where it is a vision model."""

    class Reads(engines.InferActor.Reads):
        position_ids: j.MultiAxisPositionIds


def test_a_vision_model_has_its_own_reads() -> None:
    batch = queue_batch()
    places = [row.repeat(4, 1) for row in batch.tensors["position_ids"].unbind()]
    several = torch.nested.as_nested_tensor(places, layout=torch.jagged)

    passes(InferVisionActor, batch._replace(tensors={**batch.tensors, "position_ids": several}))
    (violation,) = diagnose(InferVisionActor.Reads.__batchpact__.plan, batch).violations
    assert (violation.code, violation.field) == ("BP015", "position_ids")


@pytest.mark.parametrize("key", ["entropy", "values"])
def test_the_driver_cuts_a_response_out_of_what_an_engine_says_of_a_text(key: str) -> None:
    cut = engines.CutOldLogProbs if key == "entropy" else engines.CutValues
    read, written = cut.__batchpact__.reads.field(key), cut.__batchpact__.writes.field(key)

    assert read is not None
    assert written is not None
    assert [read.places[0].ragged, written.places[0].ragged] == ["prompt+response", "response"]
