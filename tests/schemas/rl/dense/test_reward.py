"""Scores and rewards of the older trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.dense import reward

from ..stages import dense_batch, names, passes, stages_in


@pytest.mark.parametrize("stage", stages_in(reward), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


def test_the_figures_of_a_reward_function_are_named_in_meta() -> None:
    for schema in (reward.ScoreByFunction.__batchpact__.writes, reward.ExtractReward.__batchpact__.reads):
        (figures,) = schema.columns
        assert str(figures.named_by) == "meta reward_extra_keys"
        assert schema.extra == "forbid"


def test_a_model_is_not_told_the_right_answer() -> None:
    assert reward.ScoreByModel.__batchpact__.reads.field("reward_model") is None
    assert reward.ScoreByFunction.__batchpact__.reads.field("reward_model") is not None
