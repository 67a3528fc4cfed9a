"""What the models say, in the newer trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.queue import engines

from ..stages import names, passes, queue_batch, stages_in


@pytest.mark.parametrize("stage", stages_in(engines), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, queue_batch())


@pytest.mark.parametrize("key", ["entropy", "values"])
def test_the_driver_cuts_a_response_out_of_what_an_engine_says_of_a_text(key: str) -> None:
    cut = engines.CutOldLogProbs if key == "entropy" else engines.CutValues
    read, written = cut.__batchpact__.reads.field(key), cut.__batchpact__.writes.field(key)

    assert read is not None
    assert written is not None
    assert [read.places[0].ragged, written.places[0].ragged] == ["prompt+response", "response"]
