"""The stages of a GRPO step (Shao et al. 2024, "DeepSeekMath", arXiv:2402.03300), as contracts.

In their order: `Generate`, `ScoreAnswers`, `ComputeOldLogProb`, `ComputeRefLogProb`, `KlInReward` or `UseScores`,
`ComputeAdvantage`, `UpdateActor`. The reference policy and what needs it can be left out.
"""

from __future__ import annotations

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.rl import fields as f
from batchpact.schemas.stage import Repeat, StageSchema


class PromptBatch(BatchSchema):
    """What a step starts with: prompts, padded on the left, with what their rewards need."""

    prompts: f.Prompts
    uid: f.Uid
    ground_truth: f.GroundTruth
    temperature: f.Temperature
    global_steps: f.GlobalSteps


class Generate(StageSchema):
    """Sample several responses to each prompt with the current policy."""

    rows = Repeat("actor_rollout_ref.rollout.n")

    class Reads(BatchSchema):
        prompts: f.Prompts
        temperature: f.Temperature
        n: f.ResponsesPerPrompt

    class Writes(BatchSchema):
        responses: f.Responses
        input_ids: f.InputIds
        attention_mask: f.AttentionMask
        position_ids: f.PositionIds
        response_mask: f.ResponseMask


class ScoreAnswers(StageSchema):
    """Score each response against the ground truth of its prompt."""

    class Reads(BatchSchema):
        responses: f.Responses
        response_mask: f.ResponseMask
        ground_truth: f.GroundTruth

    class Writes(BatchSchema):
        token_level_scores: f.TokenLevelScores


class ComputeOldLogProb(StageSchema):
    """Take the log-probabilities of the responses under the policy that starts the update."""

    class Reads(BatchSchema):
        input_ids: f.InputIds
        attention_mask: f.AttentionMask
        position_ids: f.PositionIds
        responses: f.Responses
        temperature: f.Temperature

    class Writes(BatchSchema):
        old_log_probs: f.OldLogProbs


class ComputeRefLogProb(StageSchema):
    """Take the log-probabilities of the responses under the frozen reference policy."""

    class Reads(BatchSchema):
        input_ids: f.InputIds
        attention_mask: f.AttentionMask
        position_ids: f.PositionIds
        responses: f.Responses
        temperature: f.Temperature

    class Writes(BatchSchema):
        ref_log_prob: f.RefLogProb


class KlInReward(StageSchema):
    """Subtract the KL penalty against the reference policy from the token-level scores."""

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores
        old_log_probs: f.OldLogProbs
        ref_log_prob: f.RefLogProb
        response_mask: f.ResponseMask
        kl_coef: f.KlCoef = 0.001

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards


class UseScores(StageSchema):
    """Take the token-level scores as the rewards, where no penalty goes into the reward."""

    class Reads(BatchSchema):
        token_level_scores: f.TokenLevelScores

    class Writes(BatchSchema):
        token_level_rewards: f.TokenLevelRewards


class ComputeAdvantage(StageSchema):
    """Compare the reward of each response with the others of its group."""

    class Reads(BatchSchema):
        token_level_rewards: f.TokenLevelRewards
        response_mask: f.ResponseMask
        uid: f.Uid

    class Writes(BatchSchema):
        advantages: f.Advantages
        returns: f.Returns


class UpdateActor(StageSchema):
    """Take optimiser steps on the clipped policy loss, with a KL term where a reference is there."""

    class Reads(BatchSchema):
        input_ids: f.InputIds
        attention_mask: f.AttentionMask
        position_ids: f.PositionIds
        responses: f.Responses
        response_mask: f.ResponseMask
        old_log_probs: f.OldLogProbs
        advantages: f.Advantages
        ref_log_prob: f.RefLogProb | None = None
        temperature: f.Temperature
        clip_ratio: f.ClipRatio = 0.2
        kl_loss_coef: f.KlLossCoef = 0.0

    class Writes(BatchSchema):
        metrics: f.Metrics
