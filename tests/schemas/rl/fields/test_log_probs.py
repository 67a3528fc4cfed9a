"""Log-probabilities."""

import pytest

from batchpact.schemas.rl.fields import log_probs

from ..specs import spec


@pytest.mark.parametrize("name", ["RolloutLogProbs", "OldLogProbs", "RefLogProb", "TeacherLogprobs"])
def test_a_missing_log_prob_has_no_silent_zero(name: str) -> None:
    """0 would be probability one."""
    field = spec(getattr(log_probs, name))

    assert field.pad is None
    assert field.fill is None
    assert {rule.kind: rule.value for rule in field.rules} == {"finite": None, "le": log_probs.ROUNDING}
