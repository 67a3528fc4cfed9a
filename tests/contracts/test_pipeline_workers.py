"""Pipelines whose stages run on groups of workers."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from batchpact.contracts import Pipeline, WorkerGroup, stage, when
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError, config
from tests.contracts.workers.calls import batch_of
from tests.contracts.workers.critics import Best, Critic, Generate, Scale, Score


class Other:
    """Has stages of the names below, one of them with another contract."""

    @stage(Generate)
    def scale(self, data: DataProto) -> None:
        """Something else under the same name."""


def pipeline(*stages: Any) -> Pipeline:
    critic = Critic()
    return Pipeline("scoring", inputs=Score.Reads, stages=stages or (critic.score, critic.scale, critic.best))


def test_stages_run_where_they_are_put_and_the_others_here() -> None:
    scorers, alone = WorkerGroup(Critic, dp=2), pipeline().run(batch_of(5))

    made = pipeline().run(batch_of(5), workers={"score": scorers, "best": scorers})

    assert made == alone
    assert scorers.call_all("shows") == [0.5, 0.5]


def test_a_declaration_without_code_runs_on_the_group_that_has_it() -> None:
    plan = Pipeline("scoring", inputs=Score.Reads, stages=[Score, Scale, Best])
    critics = WorkerGroup(Critic, dp=2)
    workers = {"score": critics.score, "scale": critics.scale, "best": critics}

    made = plan.run(batch_of(5), workers=workers)

    assert {key: made.batch[key].tolist() for key in ("scores", "scaled", "best")} == {
        "scores": [2.5, 3.5, 4.5, 5.5],
        "scaled": [2.5, 3.5, 4.5, 5.5],
        "best": [2.5, 3.5, 4.5, 5.5],
    }


def test_a_stage_of_a_sub_pipeline_is_named_with_it() -> None:
    critics = WorkerGroup(Critic, dp=2)
    outer = Pipeline("all", inputs=Score.Reads, stages=[pipeline(Critic().score), Critic().scale])

    made = outer.run(batch_of(3), workers={"scoring/score": critics})

    assert made == outer.run(batch_of(3))


def test_a_stage_that_is_switched_off_is_not_sent() -> None:
    critics = WorkerGroup(Critic, dp=2)
    plan = pipeline(when(config("score"), Critic().score))

    made = plan.run(batch_of(3), {"score": False}, workers={"score": critics})

    assert made == batch_of(3)


@pytest.mark.parametrize(
    ("workers", "text"),
    [
        (
            lambda: {"scores": WorkerGroup(Critic, dp=1)},
            "BP036 call  workers  no stage is called 'scores'; a name among 'score', 'scale' and 'best'",
        ),
        (
            lambda: {"score": WorkerGroup(Other, dp=1)},
            "BP036 call  score  score is no stage of Other; a group with this stage",
        ),
        (
            lambda: {"scale": WorkerGroup(Other, dp=1)},
            f"BP036 call  scale  the group's stage 'scale' has another contract, {__name__}.Other.scale; "
            "the one of tests.contracts.workers.critics.Critic.scale",
        ),
        (lambda: {"score": 3}, "BP036 call  score  int 3; a WorkerGroup, or a stage of one"),
    ],
)
def test_groups_that_do_not_fit_are_named_before_anything_runs(workers: Any, text: str) -> None:
    with pytest.raises(ContractError) as caught:
        pipeline().run(batch_of(3), workers=workers())

    assert str(caught.value) == f"1 problem in pipeline 'scoring'\n\n  {inspect.cleandoc(text)}"
