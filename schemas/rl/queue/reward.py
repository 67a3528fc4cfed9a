"""Scores by a reward model that shares the actor's GPUs: the driver fetches three columns and scores all rows."""

from __future__ import annotations

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Columns, named_by
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import REWARD_FIGURES
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.stage import StageSchema


class ScoreColocated(StageSchema):
    """Score every response after the rollout."""

    class Reads(BatchSchema):
        prompts: j.Prompts
        responses: j.Responses
        raw_prompt: f.RawPrompt

    class Writes(BatchSchema, extra="allow"):  # the figures of the reward function: their names are put nowhere
        rm_scores: j.RmScores


class FetchedForReward(BatchSchema):
    """What `_compute_reward_colocate` hands to the reward loop: what it fetched, padded, with a mask made anew."""

    prompts: f.Prompts
    responses: f.Responses
    attention_mask: f.AttentionMask
    raw_prompt: f.RawPrompt


class PutScores(StageSchema):
    """Put the scores back, without their padding, and the figures beside them."""

    class Reads(BatchSchema):
        responses: f.Responses
        rm_scores: f.RmScores
        reward_extra_keys: f.RewardExtraKeys | None = None
        figures: Columns[f.RewardFigure] = named_by(REWARD_FIGURES)
