"""From responses to token-level rewards: scores by a function or a model, and the KL penalty.

A reward function gives figures beside the reward, each of which becomes a column. Their names are the function's own;
`reward_extra_keys` in meta lists them.
"""

from __future__ import annotations

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Columns, named_by
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import REWARD_FIGURES
from batchpact.schemas.rl.rules import OldLogProbsSpeak, RefLogProbSpeaks
from batchpact.schemas.stage import StageSchema


class RewardWrites(BatchSchema):
    """A score on the last token of each response, and the figures that a reward function gives beside it."""

    rm_scores: f.RmScores
    reward_extra_keys: f.RewardExtraKeys
    figures: Columns[f.RewardFigure] = named_by(REWARD_FIGURES)


class ScoreByFunction(StageSchema):
    """Score each response by a function that knows the right answer: verl's reward managers."""

    class Reads(BatchSchema):
        prompts: f.Prompts
        responses: f.Responses
        attention_mask: f.AttentionMask
        data_source: f.DataSource
        reward_model: f.RewardModel
        extra_info: f.ExtraInfo | None = None
        num_turns: f.NumTurns | None = None
        tool_extra_fields: f.ToolExtraFields | None = None
        reward_scores: f.RewardScores | None = None

    class Writes(RewardWrites):
        pass


class ScoreByModel(StageSchema):
    """Score each response by a discriminative reward model, which reads the whole conversation and gives no figures."""

    class Reads(BatchSchema):
        prompts: f.Prompts
        responses: f.Responses
        attention_mask: f.AttentionMask
        raw_prompt: f.RawPrompt

    class Writes(RewardWrites):
        pass


class ExtractReward(StageSchema):
    """Take the scores of the reward loop as the token-level scores, and its figures beside them."""

    class Reads(BatchSchema):
        rm_scores: f.RmScores
        reward_extra_keys: f.RewardExtraKeys | None = None
        figures: Columns[f.RewardFigure] = named_by(REWARD_FIGURES)

    class Writes(BatchSchema):
        token_level_scores: f.TokenLevelScores


class UseRmScores(StageSchema):
    """Take the scores of the reward loop as the token-level scores, where nobody has fetched its figures."""

    class Reads(BatchSchema):
        rm_scores: f.RmScores

    class Writes(BatchSchema):
        token_level_scores: f.TokenLevelScores


class ApplyKlPenalty(StageSchema):
    """Subtract the KL penalty against the reference policy from the token-level scores."""

    class Reads(OldLogProbsSpeak, RefLogProbSpeaks):
        token_level_scores: f.TokenLevelScores
        kl_penalty: f.KlPenalty = "kl"

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards


class UseScores(StageSchema):
    """Take the token-level scores as the rewards, where no penalty goes into the reward."""

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards
