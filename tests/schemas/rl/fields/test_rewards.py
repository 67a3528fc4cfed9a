"""Rewards and advantages."""

import pytest

from batchpact.schemas.rl.fields import rewards

from ..specs import spec


@pytest.mark.parametrize("name", ["RmScores", "TokenLevelRewards", "Advantages", "Returns", "Values"])
def test_rewards_and_advantages_are_finite_and_padded_with_zero(name: str) -> None:
    field = spec(getattr(rewards, name))

    assert [rule.kind for rule in field.rules] == ["finite"]
    assert field.pad is not None
    assert field.pad.value == 0.0
