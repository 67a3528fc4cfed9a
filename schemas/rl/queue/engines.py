"""What the models say of the responses: engines return it for whole texts, and the driver cuts the responses out."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import ROUTING_REPLAY, SAMPLING_LOG_PROBS
from batchpact.schemas.rl.fields import jagged as j
from batchpact.schemas.stage import StageSchema


class EngineReads(BatchSchema):
    """What a forward pass of any model reads."""

    input_ids: j.InputIds
    position_ids: j.PositionIds
    loss_mask: j.LossMask
    multi_modal_inputs: f.MultiModalInputs | None = None
    routed_experts: Annotated[j.RoutedExperts, When(ROUTING_REPLAY)]
    temperature: f.Temperature


class InferActor(StageSchema):
    """Run the actor over every text."""

    class Reads(EngineReads):
        calculate_entropy: f.CalculateEntropy = True
        compute_loss: f.ComputeLoss = False
        no_lora_adapter: f.NoLoraAdapter = False

    class Writes(BatchSchema):
        log_probs: j.WholeLogProbs
        entropy: j.WholeEntropy


class CutOldLogProbs(StageSchema):
    """Cut the log-probabilities of the response out, and log the entropy and how far rollout and actor disagree."""

    class Reads(BatchSchema):
        log_probs: j.WholeLogProbs
        entropy: j.WholeEntropy
        response_mask: j.ResponseMask
        responses: Annotated[j.Responses, When(SAMPLING_LOG_PROBS)]
        rollout_log_probs: Annotated[j.RolloutLogProbs, When(SAMPLING_LOG_PROBS)]

    class Writes(BatchSchema):
        old_log_probs: j.OldLogProbs
        entropy: j.Entropy


class UseRolloutLogProbs(StageSchema):
    """Take the log-probabilities of the rollout for those of the old policy: bypass mode."""

    class Reads(BatchSchema):
        rollout_log_probs: j.RolloutLogProbs

    class Writes(BatchSchema):
        old_log_probs: j.OldLogProbs


class InferReference(StageSchema):
    """Run the reference over every text, which is a model of its own."""

    class Reads(EngineReads):
        calculate_entropy: f.CalculateEntropy = False
        compute_loss: f.ComputeLoss = False

    class Writes(BatchSchema):
        log_probs: j.WholeLogProbs


class InferReferenceInActor(StageSchema):
    """Run the actor without its LoRA adapter over every text.

    The trainer says so in the batch (`extra_info`), and leaves it there for the calls to come.
    """

    class Reads(EngineReads):
        calculate_entropy: f.CalculateEntropy = False
        compute_loss: f.ComputeLoss = False

    class Writes(BatchSchema):
        log_probs: j.WholeLogProbs
        no_lora_adapter: f.AdapterLeftOut


class CutRefLogProb(StageSchema):
    """Cut the reference's log-probabilities of the response out."""

    class Reads(BatchSchema):
        log_probs: j.WholeLogProbs
        response_mask: j.ResponseMask

    class Writes(BatchSchema):
        ref_log_prob: j.RefLogProb


class InferCritic(StageSchema):
    """Run the critic over every text."""

    class Reads(EngineReads):
        compute_loss: f.ComputeLoss = False
        no_lora_adapter: f.NoLoraAdapter = False

    class Writes(BatchSchema):
        values: j.WholeValues


class CutValues(StageSchema):
    """Cut the values of the response out."""

    class Reads(BatchSchema):
        values: j.WholeValues
        response_mask: j.ResponseMask

    class Writes(BatchSchema):
        values: j.Values
