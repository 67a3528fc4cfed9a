"""A step of verl's older trainer, `RayPPOTrainer.fit`: dense tensors in a `DataProto`, under every configuration."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.planned import StageLike, when
from batchpact.schemas.rl.conditions import (
    BALANCE,
    BY_FUNCTION,
    BYPASS,
    COLOCATED,
    CORRECTION,
    CORRECTION_IS_THERE,
    ESTIMATOR,
    GROUP_RELATIVE,
    KL_IN_REWARD,
    LOG_PROBS_FOR_BYPASS,
    OPTIMAL_TOKEN_BASELINES,
    PF_PPO,
    REF_IN_ACTOR,
    SUM_FOR_TOKEN_BASELINES,
    USE_CRITIC,
    USE_REFERENCE,
    VALIDATE,
    WARMED_UP,
)
from batchpact.schemas.rl.dense.advantages import (
    Gae,
    Gdpo,
    GroupEstimator,
    Grpo,
    OptimalTokenBaseline,
    ReinforcePlusPlus,
    Remax,
    ResamplePfPpo,
)
from batchpact.schemas.rl.dense.log_probs import (
    ComputeOldLogProb,
    ComputeRefLogProb,
    ComputeRefLogProbInActor,
    ComputeValues,
    CorrectRollout,
    LogEntropy,
    UseRolloutLogProbs,
)
from batchpact.schemas.rl.dense.reward import ApplyKlPenalty, ExtractReward, ScoreByFunction, ScoreByModel, UseScores
from batchpact.schemas.rl.dense.rollout import (
    Balance,
    CountTokens,
    DatasetBatch,
    Generate,
    GenerateForValidation,
    RecordTiming,
    ScoreBaselines,
)
from batchpact.schemas.rl.dense.updates import (
    LogMetrics,
    LogValidation,
    UpdateActor,
    UpdateActorOnGroups,
    UpdateCritic,
)

SCORED: tuple[StageLike, ...] = (when(BY_FUNCTION, ScoreByFunction), when(~BY_FUNCTION, ScoreByModel))
"""One of the two scores each response."""

REWARDED: tuple[StageLike, ...] = (
    when(KL_IN_REWARD, ApplyKlPenalty),
    when(~KL_IN_REWARD, UseScores),
    when(CORRECTION, CorrectRollout),
)
"""From scores to the rewards and the mask that an estimator reads."""

ESTIMATED: tuple[StageLike, ...] = (
    when(ESTIMATOR == "gae", Gae),
    when(ESTIMATOR.isin(GROUP_RELATIVE), GroupEstimator),
    when(ESTIMATOR == "gdpo", Gdpo),
    when(ESTIMATOR == "reinforce_plus_plus", ReinforcePlusPlus),
    when(ESTIMATOR == "remax", Remax),
    when(ESTIMATOR.isin(OPTIMAL_TOKEN_BASELINES), OptimalTokenBaseline),
)
"""Every estimator that is registered; those with one contract in one place."""

KNOWN_ESTIMATOR = ESTIMATOR.isin(
    ["gae", *GROUP_RELATIVE, "gdpo", "reinforce_plus_plus", "remax", *OPTIMAL_TOKEN_BASELINES]
)


REFUSED_OTHERWISE = (CORRECTION_IS_THERE, LOG_PROBS_FOR_BYPASS, SUM_FOR_TOKEN_BASELINES)
"""What the trainer refuses in words of its own is no finding of ours."""


def _step(estimated: Sequence[StageLike], learnt: Sequence[StageLike]) -> tuple[StageLike, ...]:
    """What the driver does with the prompts of one step."""
    return (
        Generate,
        *(when(~COLOCATED, stage) for stage in SCORED),
        RecordTiming,
        when(BALANCE, Balance),
        CountTokens,
        *(when(COLOCATED, stage) for stage in SCORED),
        when(BYPASS, UseRolloutLogProbs),
        when(~BYPASS, ComputeOldLogProb),
        when(~BYPASS, LogEntropy),
        when(USE_REFERENCE & ~REF_IN_ACTOR, ComputeRefLogProb),
        when(USE_REFERENCE & REF_IN_ACTOR, ComputeRefLogProbInActor),
        when(USE_CRITIC, ComputeValues),
        ExtractReward,
        *REWARDED,
        *estimated,
        *learnt,
        LogMetrics,
    )


validation = Pipeline(
    "validation",
    inputs=DatasetBatch,
    stages=[GenerateForValidation, *SCORED, LogValidation],
)
"""`RayPPOTrainer._validate`."""

ppo = Pipeline(
    "ppo",
    inputs=DatasetBatch,
    stages=[
        when(VALIDATE, validation),
        *(
            when(~VALIDATE, stage)
            for stage in (
                when(ESTIMATOR == "remax", ScoreBaselines),
                *_step(
                    (*ESTIMATED, when(PF_PPO, ResamplePfPpo)),
                    (when(USE_CRITIC, UpdateCritic), when(WARMED_UP, UpdateActor)),
                ),
            )
        ),
    ],
    always=(*REFUSED_OTHERWISE, KNOWN_ESTIMATOR),
)
"""`RayPPOTrainer.fit` with every estimator that verl registers."""

grpo = Pipeline(
    "grpo",
    inputs=DatasetBatch,
    stages=[
        when(VALIDATE, validation),
        *(when(~VALIDATE, stage) for stage in _step((Grpo,), (when(WARMED_UP, UpdateActorOnGroups),))),
    ],
    always=(*REFUSED_OTHERWISE, ~USE_CRITIC),
)
"""`RayPPOTrainer.fit` with GRPO: no critic, and a group for each prompt."""
