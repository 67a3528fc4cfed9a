"""The updates and figures of the older trainer."""

from __future__ import annotations

import pytest

from batchpact.schemas import StageSchema
from batchpact.schemas.rl.dense import updates

from ..stages import dense_batch, names, passes, stages_in


@pytest.mark.parametrize("stage", stages_in(updates), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


def test_the_actor_is_told_of_the_reference_where_the_loss_has_a_kl_term() -> None:
    field = updates.UpdateActor.__batchpact__.reads.field("ref_log_prob")

    assert field is not None
    assert field.when is not None
    assert str(field.when.subject) == "actor_rollout_ref.actor.use_kl_loss"  # type: ignore[union-attr]  # a test


def test_advantages_of_groups_are_looked_at_outside_the_mask() -> None:
    plain, grouped = updates.UpdateActor.__batchpact__.reads, updates.UpdateActorOnGroups.__batchpact__.reads

    added = {rule.name for rule in grouped.rules} - {rule.name for rule in plain.rules}
    assert added == {"advantages_are_zero_outside_the_mask"}
