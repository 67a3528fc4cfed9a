"""From prompts to the rows of a step: agent loops put what they finish, the replay buffer takes whole groups out."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import (
    BY_REWARD,
    COLOCATED,
    DISTILLATION,
    FILTER_GROUPS,
    ROUTING_REPLAY,
    SAMPLING_LOG_PROBS,
)
from batchpact.schemas.rl.dense.rollout import PromptReads
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.rl.fields import tags as t
from batchpact.schemas.rl.rules import JaggedTexts
from batchpact.schemas.stage import StageSchema


class RolloutWrites(JaggedTexts, extra="allow"):
    """What an agent loop puts of each output that it finished, with every column of its prompt; no list names these.

    Its tag `global_steps` and its column `metrics` have keys of meta fields, and are not declared here.
    """

    session_id: f.SessionId

    rollout_log_probs: Annotated[j.RolloutLogProbs, When(SAMPLING_LOG_PROBS)]
    routed_experts: Annotated[j.RoutedExperts, When(ROUTING_REPLAY)]
    rm_scores: Annotated[j.RmScores, When(~COLOCATED)]
    num_turns: f.QueueNumTurns
    multi_modal_inputs: f.MultiModalInputs
    mm_processor_kwargs: f.MmProcessorKwargs | None = None
    extra_fields: f.ExtraFields
    status: t.Status
    prompt_len: t.PromptLen
    response_len: t.ResponseLen
    seq_len: t.SeqLen
    min_global_steps: t.FirstWeights
    max_global_steps: t.LastWeights


class QueuePromptReads(PromptReads, extra="allow"):
    """What an agent loop answers, as often as the prompt or the configuration says."""

    rollout_n: f.RolloutN | None = None


class Generate(StageSchema):
    """Answer each prompt several times; one answer may end in several outputs, and a failed one leaves none."""

    rows = "select"

    class Reads(QueuePromptReads):
        pass

    class Writes(RolloutWrites):
        teacher_ids: Annotated[j.TeacherIds, When(DISTILLATION)]
        teacher_logprobs: Annotated[j.TeacherLogprobs, When(DISTILLATION)]


class GenerateForValidation(StageSchema):
    """Answer the prompts of a validation, as often and as hot as it wants them; no teacher is asked."""

    rows = "select"

    class Reads(QueuePromptReads):
        pass

    class Writes(RolloutWrites):
        pass


class SampleGroups(StageSchema):
    """Take finished groups out of the replay buffer; with DAPO's filter none whose rewards are all alike."""

    rows = "select"

    class Reads(BatchSchema):
        is_prompt: t.IsPrompt | None = None
        status: t.Status
        uid: f.Uid
        rm_scores: Annotated[j.RmScores, When(FILTER_GROUPS & BY_REWARD)]
        extra_fields: Annotated[f.ExtraFields, When(FILTER_GROUPS & ~BY_REWARD)]

    class Writes(BatchSchema):
        batch_keys: f.BatchKeys


class Balance(StageSchema):
    """Reorder the rows so that every rank gets about as many tokens; rows of padding fill the batch up before."""

    rows = "permute"

    class Reads(BatchSchema):
        seq_len: t.SeqLen

    class Writes(BatchSchema):
        is_padding: t.IsPadding | None = None
