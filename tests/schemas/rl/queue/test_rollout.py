"""The rollout of the newer trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.queue import rollout

from ..stages import names, passes, queue_batch, stages_in


@pytest.mark.parametrize("stage", stages_in(rollout), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, queue_batch())


def test_an_answer_may_end_in_any_number_of_outputs() -> None:
    assert rollout.Generate.rows == "select"


def test_the_loss_mask_is_put_as_the_twin_of_the_response_mask() -> None:
    field = rollout.Generate.__batchpact__.writes.field("loss_mask")

    assert field is not None
    assert field.same_as == "response_mask"


def test_what_is_balanced_by_is_known_without_fetching() -> None:
    field = rollout.Balance.__batchpact__.reads.field("seq_len")

    assert field is not None
    assert [place.placement for place in field.places] == ["tag"]
