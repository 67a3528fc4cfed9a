"""What a configuration of verl switches on."""

from typing import Any

import pytest

from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.rl import conditions as c


def holds(condition: Any, config: dict[str, Any]) -> bool | None:
    def look_up(subject: SubjectSpec) -> object:
        value: Any = config
        for part in subject.name.split("."):
            if not isinstance(value, dict) or part not in value:
                return subject.default
            value = value[part]
        return value

    answer: bool | None = condition.holds(look_up)
    return answer


@pytest.mark.parametrize(
    ("config", "critic"),
    [
        ({}, True),
        ({"algorithm": {"adv_estimator": "grpo"}}, False),
        ({"algorithm": {"adv_estimator": "grpo"}, "critic": {"enable": True}}, True),
        ({"critic": {"enable": False}}, False),
    ],
)
def test_a_critic_is_there_for_gae_or_where_it_is_asked_for(config: dict[str, Any], critic: bool) -> None:
    """As `need_critic` of verl says."""
    assert holds(c.USE_CRITIC, config) is critic


@pytest.mark.parametrize(
    ("reward", "colocated", "by_function"),
    [
        ({}, False, True),
        ({"reward_model": {"enable": True}}, True, False),
        ({"reward_model": {"enable": True, "enable_resource_pool": True}}, False, False),
        ({"reward_model": {"enable": True}, "custom_reward_function": {"path": "score.py"}}, True, True),
    ],
)
def test_who_scores_and_where(reward: dict[str, Any], colocated: bool, by_function: bool) -> None:
    assert holds(c.COLOCATED, {"reward": reward}) is colocated
    assert holds(c.BY_FUNCTION, {"reward": reward}) is by_function


def test_a_rollout_is_corrected_unless_it_is_bypassed() -> None:
    """verl's defaults hold a section of nothing, and rewrite the mask then."""
    assert holds(c.CORRECTION, {"algorithm": {"rollout_correction": {"rollout_is": None}}}) is True
    assert holds(c.CORRECTION, {"algorithm": {"rollout_correction": {"bypass_mode": True}}}) is False
    assert holds(c.CORRECTION, {"algorithm": {"rollout_correction": None}}) is False
