"""Advantages: the driver fetches seven columns, works on them as a dense batch of its own, and puts some back."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import (
    CORRECTION,
    IS_WEIGHTS,
    KL_IN_REWARD,
    SAMPLING_LOG_PROBS,
    USE_CRITIC,
    USE_REFERENCE,
)
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.stage import StageSchema


class ComputeAdvantage(StageSchema):
    """Everything between scores and advantages, as the queue sees it."""

    class Reads(BatchSchema):
        batch_keys: f.BatchKeys
        uid: f.Uid
        response_mask: j.ResponseMask
        rm_scores: j.RmScores
        rollout_log_probs: Annotated[j.RolloutLogProbs, When(SAMPLING_LOG_PROBS)]
        old_log_probs: j.OldLogProbs
        ref_log_prob: Annotated[j.RefLogProb, When(USE_REFERENCE)]
        values: Annotated[j.Values, When(USE_CRITIC)]

    class Writes(BatchSchema):
        advantages: j.Advantages
        returns: j.Returns
        token_level_rewards: Annotated[j.TokenLevelRewards, When(KL_IN_REWARD)]
        response_mask: Annotated[j.ResponseMask, When(CORRECTION)]
        rollout_is_weights: Annotated[j.RolloutIsWeights, When(IS_WEIGHTS)]


class FetchedForAdvantage(BatchSchema):
    """What `_compute_advantage` fetches and pads, with the keys that it fetches by."""

    batch_keys: f.BatchKeys
    uid: f.Uid
    response_mask: f.ResponseMask
    rm_scores: f.RmScores
    rollout_log_probs: Annotated[f.RolloutLogProbs, When(SAMPLING_LOG_PROBS)]
    old_log_probs: f.OldLogProbs
    ref_log_prob: Annotated[f.RefLogProb, When(USE_REFERENCE)]
    values: Annotated[f.Values, When(USE_CRITIC)]


class PutAdvantages(StageSchema):
    """Put the results back without their padding, each row under the key that it was fetched by."""

    class Reads(BatchSchema):
        batch_keys: f.BatchKeys
        advantages: f.Advantages
        returns: f.Returns
        token_level_rewards: Annotated[f.TokenLevelRewards, When(KL_IN_REWARD)]
        response_mask: Annotated[f.ResponseMask, When(CORRECTION)]
        rollout_is_weights: Annotated[f.RolloutIsWeights, When(IS_WEIGHTS)]
