"""The updates and figures of the newer trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.queue import updates

from ..stages import names, passes, queue_batch, stages_in


@pytest.mark.parametrize("stage", stages_in(updates), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, queue_batch())


def test_an_update_counts_the_tokens_of_its_loss_by_the_twin() -> None:
    for stage in (updates.UpdateActor, updates.UpdateCritic):
        reads = stage.__batchpact__.reads
        assert reads.field("loss_mask") is not None
        assert reads.field("response_mask") is not None
