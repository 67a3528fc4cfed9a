"""Scores and rewards of the older trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.dense import reward

from ..stages import dense_batch, names, passes, stages_in


@pytest.mark.parametrize("stage", stages_in(reward), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


def test_names_of_reward_columns_are_known_to_the_data_only() -> None:
    assert reward.ScoreByFunction.__batchpact__.writes.extra == "allow"
    assert reward.ScoreByFunction.__batchpact__.reads.extra == "forbid"


def test_a_model_is_not_told_the_right_answer() -> None:
    assert reward.ScoreByModel.__batchpact__.reads.field("reward_model") is None
    assert reward.ScoreByFunction.__batchpact__.reads.field("reward_model") is not None
