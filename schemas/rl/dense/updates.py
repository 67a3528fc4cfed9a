"""Optimiser steps, and what a step and a validation log."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Columns, named_by
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import (
    BYPASS,
    DISTILLATION,
    ESTIMATOR,
    GDPO_PARTS,
    IS_WEIGHTS,
    KL_IN_LOSS,
    REWARD_FIGURES,
    SUM_PI_SQUARED,
    USE_CRITIC,
)
from batchpact.schemas.rl.dense.log_probs import ModelReads
from batchpact.schemas.rl.rules import GroupsShareTheirPrompt, MaskedAdvantages, OldLogProbsSpeak, ScoresOnRealTokens
from batchpact.schemas.stage import StageSchema


class UpdateReads(ModelReads):
    """What an update reads beside its targets: the batch, and how it is cut."""

    global_batch_size: f.GlobalBatchSize
    mini_batch_size: f.MiniBatchSize
    epochs: f.Epochs = 1
    seed: f.Seed = 42
    dataloader_kwargs: f.DataloaderKwargs


class UpdateWrites(BatchSchema):
    """The figures of an update."""

    metrics: f.UpdateMetrics


class UpdateCritic(StageSchema):
    """Take optimiser steps of the critic towards the returns."""

    class Reads(UpdateReads):
        values: f.Values
        returns: f.Returns

    class Writes(UpdateWrites):
        pass


class UpdateActor(StageSchema):
    """Take optimiser steps on the policy loss, with the terms that the configuration adds."""

    class Reads(OldLogProbsSpeak, UpdateReads):
        advantages: f.Advantages
        rollout_is_weights: Annotated[f.RolloutIsWeights, When(IS_WEIGHTS)]
        ref_log_prob: Annotated[f.RefLogProb, When(KL_IN_LOSS)]
        teacher_ids: Annotated[f.TeacherIds, When(DISTILLATION)]
        teacher_logprobs: Annotated[f.TeacherLogprobs, When(DISTILLATION)]
        calculate_entropy: f.CalculateEntropy = False
        distillation_use_topk: f.DistillationUseTopk = False
        distillation_only: f.DistillationOnly = False
        compute_loss: f.ComputeLoss = True

    class Writes(UpdateWrites):
        pass


class UpdateActorOnGroups(StageSchema):
    """The update after an estimator that compares groups, whose advantages are 0 outside the mask."""

    class Reads(MaskedAdvantages, UpdateActor.Reads):
        pass

    class Writes(UpdateWrites):
        pass


class LogMetrics(StageSchema):
    """Make the figures of a step: scores, rewards, advantages, lengths, throughput, and a proxy of the variance."""

    class Reads(ScoresOnRealTokens, GroupsShareTheirPrompt):
        responses: f.Responses
        response_mask: f.ResponseMask
        token_level_rewards: f.TokenLevelRewards
        advantages: f.Advantages
        returns: f.Returns
        values: Annotated[f.Values, When(USE_CRITIC)]
        old_log_probs: f.OldLogProbs
        sum_pi_squared: Annotated[f.SumPiSquared, When(SUM_PI_SQUARED & ~BYPASS)]
        rollout_is_weights: Annotated[f.RolloutIsWeights, When(IS_WEIGHTS)]
        parts: Annotated[Columns[f.RewardPart], When(ESTIMATOR == "gdpo")] = named_by(GDPO_PARTS, optional=True)
        num_turns: f.NumTurns | None = None
        tool_call_counts: f.ToolCallCounts | None = None
        spec_num_draft_tokens: f.SpecNumDraftTokens | None = None
        spec_num_accepted_tokens: f.SpecNumAcceptedTokens | None = None
        spec_num_verify_steps: f.SpecNumVerifySteps | None = None
        global_token_num: f.GlobalTokenNum

    class Writes(UpdateWrites):
        pass


class LogValidation(StageSchema):
    """Make the figures of a validation, by dataset, and write examples of it."""

    class Reads(BatchSchema):
        prompts: f.Prompts
        responses: f.Responses
        rm_scores: f.RmScores
        reward_extra_keys: f.RewardExtraKeys | None = None
        figures: Columns[f.RewardFigure] = named_by(REWARD_FIGURES)
        uid: f.Uid
        data_source: f.DataSource
        reward_model: f.RewardModel
        num_turns: f.NumTurns | None = None

    class Writes(BatchSchema):
        validation_metrics: f.ValidationMetrics
