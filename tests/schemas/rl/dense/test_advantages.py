"""The estimators: what each of them reads, and which of them have one contract."""

from __future__ import annotations

import pytest

from batchpact.schemas import FieldSpec, StageSchema
from batchpact.schemas.rl.conditions import GROUP_RELATIVE, OPTIMAL_TOKEN_BASELINES
from batchpact.schemas.rl.dense import advantages
from batchpact.schemas.rl.dense.advantages import ESTIMATORS, GroupEstimator, OptimalTokenBaseline

from ..stages import dense_batch, names, passes, stages_in


@pytest.mark.parametrize("stage", stages_in(advantages), ids=names)
def test_a_healthy_batch_passes_where_it_is_read_and_written(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


def test_the_estimators_of_one_contract_differ_in_arguments_only() -> None:
    """A pipeline has them in one place."""
    for name in GROUP_RELATIVE:
        assert batch_fields(ESTIMATORS[name]) == batch_fields(GroupEstimator), name
    for name in OPTIMAL_TOKEN_BASELINES:
        assert batch_fields(ESTIMATORS[name]) == batch_fields(OptimalTokenBaseline), name


def batch_fields(stage: type[StageSchema]) -> list[FieldSpec]:
    """The fields of the batch that a stage reads and writes."""
    record = stage.__batchpact__
    fields = (*record.reads.fields, *record.writes.fields)
    return [field for field in fields if field.places[0].placement != "arg"]


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("gae", {"values"}),
        ("grpo", {"uid"}),
        ("gdpo", {"uid", "prompts", "attention_mask"}),
        ("reinforce_plus_plus", set()),
        ("remax", {"reward_baselines"}),
        ("optimal_token_baseline", {"uid", "old_log_probs", "sum_pi_squared", "rollout_is_weights"}),
    ],
)
def test_what_an_estimator_reads_beside_rewards_and_mask(name: str, reads: set[str]) -> None:
    keys = {field.key for field in ESTIMATORS[name].__batchpact__.reads.fields if field.places[0].placement != "arg"}

    assert keys == {"token_level_rewards", "response_mask"} | reads


def test_pf_ppo_draws_rows_anew() -> None:
    assert advantages.ResamplePfPpo.rows == "select"
