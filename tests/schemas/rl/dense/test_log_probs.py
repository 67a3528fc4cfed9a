"""What the models say, in the older trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.dense import log_probs

from ..stages import dense_batch, names, passes, stages_in


@pytest.mark.parametrize("stage", stages_in(log_probs), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


def test_a_switch_of_one_call_does_not_enter_the_batch() -> None:
    field = log_probs.ComputeRefLogProbInActor.__batchpact__.reads.field("no_lora_adapter")

    assert field is not None
    assert [place.placement for place in field.places] == ["arg"]
    assert log_probs.ComputeRefLogProb.__batchpact__.reads.field("no_lora_adapter") is None


def test_correcting_the_rollout_rewrites_the_mask_and_adds_weights_where_they_are_wanted() -> None:
    written = {field.key: field.when for field in log_probs.CorrectRollout.__batchpact__.writes.fields}

    assert written["response_mask"] is None
    assert written["rollout_is_weights"] is not None
    assert written["rollout_is_weights"].name == "rollout_is_weights"


def test_the_entropy_goes_into_the_log_and_leaves_the_batch() -> None:
    assert log_probs.LogEntropy.drops == ("entropys",)
