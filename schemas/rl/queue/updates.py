"""Optimiser steps, and what a step and a validation log."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import DISTILLATION, IS_WEIGHTS, KL_IN_LOSS, KL_IN_REWARD, USE_CRITIC
from batchpact.schemas.rl.dense.updates import UpdateWrites
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.rl.fields import tags as t
from batchpact.schemas.rl.queue.engines import EngineReads
from batchpact.schemas.rl.rules import MaskedAdvantages, OldLogProbsSpeak
from batchpact.schemas.stage import StageSchema


class UpdateReads(EngineReads):
    """What an update reads beside its targets: the texts, where their responses start, and how the batch is cut."""

    prompts: j.Prompts
    responses: j.Responses
    response_mask: j.ResponseMask
    global_batch_size: f.GlobalBatchSize
    mini_batch_size: f.MiniBatchSize
    epochs: f.Epochs = 1
    seed: f.Seed = 42
    dataloader_kwargs: f.DataloaderKwargs


class UpdateCritic(StageSchema):
    """Take optimiser steps of the critic towards the returns."""

    class Reads(UpdateReads):
        values: j.Values
        returns: j.Returns

    class Writes(UpdateWrites):
        pass


class UpdateActor(StageSchema):
    """Take optimiser steps on the policy loss, with the terms that the configuration adds."""

    class Reads(OldLogProbsSpeak, UpdateReads):
        response_mask: j.ResponseMask
        old_log_probs: j.OldLogProbs
        advantages: j.Advantages
        rollout_is_weights: Annotated[j.RolloutIsWeights, When(IS_WEIGHTS)]
        ref_log_prob: Annotated[j.RefLogProb, When(KL_IN_LOSS)]
        teacher_ids: Annotated[j.TeacherIds, When(DISTILLATION)]
        teacher_logprobs: Annotated[j.TeacherLogprobs, When(DISTILLATION)]
        calculate_entropy: f.CalculateEntropy = False
        distillation_use_topk: f.DistillationUseTopk = False
        distillation_only: f.DistillationOnly = False

    class Writes(UpdateWrites):
        pass


class UpdateActorOnGroups(StageSchema):
    """The update after an estimator that compares groups, whose advantages are 0 outside the mask."""

    class Reads(MaskedAdvantages, UpdateActor.Reads):
        response_mask: j.ResponseMask
        advantages: j.Advantages

    class Writes(UpdateWrites):
        pass


class LogMetrics(StageSchema):
    """Make the figures of a step: scores, rewards, advantages, lengths, throughput, and how old the weights were."""

    class Reads(BatchSchema):
        prompts: j.Prompts
        responses: j.Responses
        response_mask: j.ResponseMask
        rm_scores: j.RmScores
        token_level_rewards: Annotated[j.TokenLevelRewards, When(KL_IN_REWARD)]
        advantages: j.Advantages
        returns: j.Returns
        values: Annotated[j.Values, When(USE_CRITIC)]
        num_turns: f.QueueNumTurns
        extra_fields: f.ExtraFields | None = None
        min_global_steps: t.FirstWeights
        max_global_steps: t.LastWeights
        is_padding: t.IsPadding | None = None

    class Writes(UpdateWrites):
        pass


class LogValidation(StageSchema):
    """Make the figures of a validation, by dataset, from the last output of each session, and write examples of it."""

    class Reads(BatchSchema):
        batch_keys: f.BatchKeys
        prompts: j.Prompts
        responses: j.Responses
        uid: f.Uid
        rm_scores: j.RmScores
        num_turns: f.QueueNumTurns
        reward_model: f.RewardModel
        data_source: f.DataSource
        extra_fields: f.ExtraFields

    class Writes(BatchSchema):
        validation_metrics: f.ValidationMetrics
