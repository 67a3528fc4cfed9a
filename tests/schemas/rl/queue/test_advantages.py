"""Advantages in the newer trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.queue import advantages

from ..stages import WORKS_ON_A_FETCHED_BATCH, dense_batch, names, passes, queue_batch, stages_in


@pytest.mark.parametrize("stage", stages_in(advantages), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch() if stage.__name__ in WORKS_ON_A_FETCHED_BATCH else queue_batch())


def test_seven_columns_are_fetched_by_their_keys() -> None:
    reads = [field.key for field in advantages.ComputeAdvantage.__batchpact__.reads.fields]

    assert reads == [field.key for field in advantages.FetchedForAdvantage.__batchpact__.spec.fields]
    assert len(reads) == 1 + 7
