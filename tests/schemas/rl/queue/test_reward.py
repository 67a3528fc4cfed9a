"""Scores by a reward model on the GPUs of the actor, in the newer trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.queue import reward

from ..stages import WORKS_ON_A_FETCHED_BATCH, dense_batch, names, passes, queue_batch, stages_in


@pytest.mark.parametrize("stage", stages_in(reward), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch() if stage.__name__ in WORKS_ON_A_FETCHED_BATCH else queue_batch())


def test_three_columns_are_fetched() -> None:
    assert [field.key for field in reward.ScoreColocated.__batchpact__.reads.fields] == [
        "prompts",
        "responses",
        "raw_prompt",
    ]
