"""The rollout of the older trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.dense import rollout

from ..stages import dense_batch, names, passes, stages_in


@pytest.mark.parametrize("stage", stages_in(rollout), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


def test_rows_are_repeated_as_often_as_the_configuration_says() -> None:
    times = {stage.__name__: stage.__batchpact__.rows.times for stage in stages_in(rollout)}

    assert times["Generate"] == "actor_rollout_ref.rollout.n"
    assert times["GenerateForValidation"] == "actor_rollout_ref.rollout.val_kwargs.n"


def test_what_goes_into_the_log_leaves_the_batch() -> None:
    assert rollout.RecordTiming.drops == ("timing",)
    assert rollout.Balance.rows == "permute"
