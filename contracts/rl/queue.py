"""A step of verl's newer trainer, `PPOTrainer.step`: jagged tensors in TransferQueue, as its configuration switches it.

Twice a step the driver fetches columns and works on a dense batch of its own. Each time is a pipeline by itself, whose
inputs are what it fetches: `queue_reward` and `queue_advantage`.
"""

from __future__ import annotations

from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.planned import StageLike, when
from batchpact.contracts.rl.dense import ESTIMATED, KNOWN_ESTIMATOR, REWARDED, SCORED
from batchpact.schemas.rl.conditions import (
    BYPASS,
    COLOCATED,
    CORRECTION_IS_THERE,
    ESTIMATOR,
    PF_PPO,
    REF_IN_ACTOR,
    SCORED_BEFORE_FILTERING,
    SUM_FOR_TOKEN_BASELINES,
    USE_CRITIC,
    USE_REFERENCE,
    VALIDATE,
    WARMED_UP,
)
from batchpact.schemas.rl.dense.advantages import ResamplePfPpo
from batchpact.schemas.rl.dense.reward import UseRmScores
from batchpact.schemas.rl.dense.rollout import DatasetBatch
from batchpact.schemas.rl.queue.advantages import ComputeAdvantage, FetchedForAdvantage, PutAdvantages
from batchpact.schemas.rl.queue.engines import (
    CutOldLogProbs,
    CutRefLogProb,
    CutValues,
    InferActor,
    InferCritic,
    InferReference,
    InferReferenceInActor,
    UseRolloutLogProbs,
)
from batchpact.schemas.rl.queue.reward import FetchedForReward, PutScores, ScoreColocated
from batchpact.schemas.rl.queue.rollout import Balance, Generate, GenerateForValidation, SampleGroups
from batchpact.schemas.rl.queue.updates import (
    LogMetrics,
    LogValidation,
    UpdateActor,
    UpdateActorOnGroups,
    UpdateCritic,
)


def _step(update_actor: StageLike) -> tuple[StageLike, ...]:
    """What `_step_once` does, from the prompts that it submits to its figures."""
    return (
        Generate,
        SampleGroups,
        when(COLOCATED, ScoreColocated),
        Balance,
        when(BYPASS, UseRolloutLogProbs),
        when(~BYPASS, InferActor),
        when(~BYPASS, CutOldLogProbs),
        when(USE_REFERENCE & ~REF_IN_ACTOR, InferReference),
        when(USE_REFERENCE & REF_IN_ACTOR, InferReferenceInActor),
        when(USE_REFERENCE, CutRefLogProb),
        when(USE_CRITIC, InferCritic),
        when(USE_CRITIC, CutValues),
        ComputeAdvantage,
        when(USE_CRITIC, UpdateCritic),
        when(WARMED_UP, update_actor),
        LogMetrics,
    )


queue_validation = Pipeline(
    "queue_validation",
    inputs=DatasetBatch,
    stages=[GenerateForValidation, SampleGroups, when(COLOCATED, ScoreColocated), LogValidation],
    always=(SCORED_BEFORE_FILTERING,),
)
"""`PPOTrainer._validate`."""

queue_reward = Pipeline(
    "queue_reward",
    inputs=FetchedForReward,
    stages=[*SCORED, PutScores],
    always=(COLOCATED,),
)
"""`PPOTrainer._compute_reward_colocate`, on the three columns that it fetches."""

queue_advantage = Pipeline(
    "queue_advantage",
    inputs=FetchedForAdvantage,
    stages=[UseRmScores, *REWARDED, *ESTIMATED, when(PF_PPO, ResamplePfPpo), PutAdvantages],
    always=(CORRECTION_IS_THERE, SUM_FOR_TOKEN_BASELINES, KNOWN_ESTIMATOR),
)
"""`PPOTrainer._compute_advantage`, on the seven columns that it fetches."""

queue_ppo = Pipeline(
    "queue_ppo",
    inputs=DatasetBatch,
    stages=[when(VALIDATE, queue_validation), *(when(~VALIDATE, stage) for stage in _step(UpdateActor))],
    always=(CORRECTION_IS_THERE, SCORED_BEFORE_FILTERING),
)
"""`PPOTrainer.step`, with any estimator: what an estimator needs is in `queue_advantage`."""

queue_grpo = Pipeline(
    "queue_grpo",
    inputs=DatasetBatch,
    stages=[when(VALIDATE, queue_validation), *(when(~VALIDATE, stage) for stage in _step(UpdateActorOnGroups))],
    always=(CORRECTION_IS_THERE, SCORED_BEFORE_FILTERING, ESTIMATOR == "grpo", ~USE_CRITIC),
)
"""`PPOTrainer.step` with GRPO: no critic, and a group for each prompt."""
