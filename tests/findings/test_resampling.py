"""pf_ppo in verl 0.9.1: rows are drawn anew by their scores, and the results are put under the keys of other rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from jaxtyping import Float32

from batchpact.contracts import stage
from batchpact.schemas import BatchSchema, ContractError, StageSchema
from batchpact.schemas.rl import fields as f
from tests.findings.contracts import advantage, found
from tests.findings.queue import DictQueue
from tests.findings.trainer import Trainer, jagged, put, put_rollout, rows

SCORES = [10.0, 20.0, 30.0, 40.0]
PF_PPO = {"reweight_method": "pow", "weight_pow": 2.0}
Floats = Float32[torch.Tensor, "batch response"]


def test_rows_get_the_returns_of_other_rows(queue: DictQueue) -> None:
    trainer = Trainer(algorithm__adv_estimator="gae", algorithm__use_pf_ppo=True, algorithm__pf_ppo=PF_PPO)
    meta = put_rollout(queue, SCORES, [2, 2, 2, 2], ["a", "b", "c", "d"])
    put(queue, meta, values=jagged([[0.0, 0.0]] * 4), old_log_probs=jagged([[-1.0, -1.0]] * 4))
    torch.manual_seed(0)

    trainer._compute_advantage(meta, {})

    assert [sum(row) for row in rows(queue, meta, "rm_scores")] == SCORES
    assert [row[-1] for row in rows(queue, meta, "returns")] == [40.0, 40.0, 30.0, 40.0]


def test_the_check_finds_rows_that_are_put_under_keys_that_are_not_theirs() -> None:
    assert found(advantage, "BP023") == [
        "BP023 keys put_advantage: keys 'reweight_pf_ppo' makes several rows of one; one row for one key; "
        "where rows may be copies of one another, the field is a Group(); "
        "with algorithm.adv_estimator='gae', algorithm.use_pf_ppo=True"
    ]


class Estimate(StageSchema):
    """GAE with rows that stay where they are, as a trainer expects that puts them under their keys."""

    class Reads(BatchSchema):
        token_level_rewards: Floats
        token_level_scores: Floats
        response_mask: f.ResponseMask
        values: Floats

    class Writes(BatchSchema):
        advantages: Floats
        returns: Floats


class EstimateSelected(Estimate):
    """The same, said as it is."""

    rows = "select"


def resampled(schema: type[StageSchema]) -> str:
    """What the boundary says of verl's own `compute_advantage`, on verl's own `DataProto`."""
    from verl.protocol import DataProto
    from verl.trainer.ppo.ray_trainer import compute_advantage

    config = Trainer(algorithm__use_pf_ppo=True, algorithm__pf_ppo=PF_PPO).config.algorithm

    @stage(schema)
    def estimate(data: Any) -> Any:
        return compute_advantage(data, adv_estimator="gae", config=config)

    scores = torch.tensor([[0.0, score] for score in SCORES])
    batch = {"token_level_rewards": scores, "token_level_scores": scores.clone(), "values": torch.zeros(4, 2)}
    with pytest.raises(ContractError) as caught:
        estimate(DataProto.from_dict({**batch, "response_mask": torch.ones(4, 2, dtype=torch.int64)}))
    return str(caught.value)


def test_at_run_time_fields_come_back_with_the_values_of_other_rows() -> None:
    lines = resampled(Estimate).splitlines()

    assert lines[0] == "4 problems where stage 'estimate' returns its result"
    assert [line.split()[:3] for line in lines[2:]] == [
        ["BP031", "changed", name] for name in ("token_level_rewards", "token_level_scores", "response_mask", "values")
    ]


def test_declared_as_a_selection_it_has_to_say_which_rows() -> None:
    assert resampled(EstimateSelected) == (
        "1 problem where stage 'estimate' returns its result\n\n"
        "  BP034 origin  batch  nothing says which input rows the result has; declared rows = 'select'; "
        "return from_rows(result, origin), or index or reorder the DataProto that was handed in"
    )
