"""From responses to token-level rewards: scores by a function or a model, and the KL penalty.

The names of the columns that a reward function adds are known to the data only, so what writes them allows extra
columns; `reward_extra_keys` in meta lists them.
"""

from __future__ import annotations

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.rules import OldLogProbsSpeak, RefLogProbSpeaks
from batchpact.schemas.stage import StageSchema


class RewardWrites(BatchSchema, extra="allow"):
    """A score on the last token of each response, and the figures that a reward function gives beside it."""

    rm_scores: f.RmScores
    reward_extra_keys: f.RewardExtraKeys


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

    class Writes(RewardWrites):
        pass


class ScoreByModel(StageSchema):
    """Score each response by a discriminative reward model, which reads the whole conversation."""

    class Reads(BatchSchema):
        prompts: f.Prompts
        responses: f.Responses
        attention_mask: f.AttentionMask
        raw_prompt: f.RawPrompt

    class Writes(RewardWrites):
        pass


class UseRmScores(StageSchema):
    """Take the scores of the reward loop as the token-level scores."""

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
