"""From prompts to responses: what comes from the dataset, generation, and what the driver makes of its result."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import DISTILLATION, ROUTING_REPLAY, SAMPLING_LOG_PROBS
from batchpact.schemas.rl.rules import CountedTexts
from batchpact.schemas.stage import Repeat, StageSchema


class DatasetBatch(BatchSchema, extra="allow"):
    """Prompts as verl's `RLHFDataset` gives them, with the uid that the trainer adds.

    Whatever other columns a dataset has go along; nothing in verl lists them.
    """

    dummy_tensor: f.DummyTensor
    raw_prompt: f.RawPrompt
    uid: f.Uid
    data_source: f.DataSource
    reward_model: f.RewardModel
    extra_info: f.ExtraInfo
    dataset_index: f.DatasetIndex
    tools_kwargs: f.ToolsKwargs
    interaction_kwargs: f.InteractionKwargs
    agent_name: f.AgentName | None = None
    temperature: f.Temperature
    global_steps: f.GlobalSteps
    validation: f.Validate = False


class PromptReads(BatchSchema, extra="allow"):
    """What an agent loop answers: each column of a prompt is an argument of it, also those that a dataset adds."""

    raw_prompt: f.RawPrompt
    uid: f.Uid
    data_source: f.DataSource
    reward_model: f.RewardModel
    extra_info: f.ExtraInfo
    dataset_index: f.DatasetIndex
    tools_kwargs: f.ToolsKwargs
    interaction_kwargs: f.InteractionKwargs
    agent_name: f.AgentName | None = None
    do_sample: f.DoSample | None = None
    priority: f.Priority | None = None
    global_steps: f.GlobalSteps
    validation: f.Validate = False


class RolloutWrites(CountedTexts, extra="allow"):
    """Texts with their masks, and what an agent loop and an inference server say of each.

    Agent loops add fields of their own: those that the first row of a batch has, which no list names.
    """

    rollout_log_probs: Annotated[f.RolloutLogProbs, When(SAMPLING_LOG_PROBS)]
    routed_experts: Annotated[f.RoutedExperts, When(ROUTING_REPLAY)]
    multi_modal_inputs: f.MultiModalInputs
    turn_scores: f.TurnScores
    tool_rewards: f.ToolRewards
    extras: f.Extras
    min_global_steps: f.MinGlobalSteps
    max_global_steps: f.MaxGlobalSteps
    metrics: f.RolloutMetrics
    timing: f.Timing


class Generate(StageSchema):
    """Sample several responses to each prompt with the current policy, in one turn or in a loop with tools."""

    rows = Repeat("actor_rollout_ref.rollout.n")

    class Reads(PromptReads):
        pass

    class Writes(RolloutWrites):
        teacher_ids: Annotated[f.TeacherIds, When(DISTILLATION)]
        teacher_logprobs: Annotated[f.TeacherLogprobs, When(DISTILLATION)]


class GenerateForValidation(StageSchema):
    """Sample the responses of a validation, as often and as hot as it wants them; no teacher is asked."""

    rows = Repeat("actor_rollout_ref.rollout.val_kwargs.n")

    class Reads(PromptReads):
        pass

    class Writes(RolloutWrites):
        pass


class ScoreBaselines(StageSchema):
    """Answer each prompt greedily and score the answers: the baselines of ReMax, one for a prompt."""

    class Reads(PromptReads):
        pass

    class Writes(BatchSchema):
        reward_baselines: f.RewardBaselines


class RecordTiming(StageSchema):
    """Take the seconds of the rollout out of the batch into the trainer's figures."""

    drops = ("timing",)

    class Reads(BatchSchema):
        timing: f.Timing


class ComputeResponseMask(StageSchema):
    """Take the tail of the attention mask for the response mask, where a rollout wrote none."""

    class Reads(BatchSchema):
        responses: f.Responses
        attention_mask: f.AttentionMask

    class Writes(BatchSchema):
        response_mask: f.ResponseMask


class Balance(StageSchema):
    """Reorder the rows so that every rank gets about as many tokens."""

    rows = "permute"

    class Reads(BatchSchema):
        attention_mask: f.WholeAttentionMask
        uid: f.Uid | None = None


class CountTokens(StageSchema):
    """Count the tokens of each row and the patches of each image, by which the ranks measure their MFU."""

    class Reads(BatchSchema):
        attention_mask: f.WholeAttentionMask
        multi_modal_inputs: f.MultiModalInputs

    class Writes(BatchSchema):
        global_token_num: f.GlobalTokenNum
        images_seqlens: f.ImagesSeqlens
