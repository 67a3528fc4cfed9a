"""What the models say of the responses: log-probabilities, values, and how far the rollout was off."""

from __future__ import annotations

from typing import Annotated

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.markers import When
from batchpact.schemas.rl import fields as f
from batchpact.schemas.rl.conditions import IS_WEIGHTS, ROUTING_REPLAY, SAMPLING_LOG_PROBS, SUM_PI_SQUARED
from batchpact.schemas.rl.rules import OldLogProbsSpeak, RolloutLogProbsSpeak
from batchpact.schemas.stage import StageSchema


class ModelReads(BatchSchema):
    """What a forward pass of any model reads: `left_right_2_no_padding` takes the padding out, and puts it back."""

    prompts: f.Prompts
    responses: f.Responses
    input_ids: f.InputIds
    attention_mask: f.AttentionMask
    position_ids: f.AnyPositionIds
    response_mask: f.ResponseMask
    multi_modal_inputs: f.MultiModalInputs | None = None
    routed_experts: Annotated[f.RoutedExperts, When(ROUTING_REPLAY)]
    temperature: f.Temperature
    global_token_num: f.GlobalTokenNum
    images_seqlens: f.ImagesSeqlens | None = None


class ComputeOldLogProb(StageSchema):
    """Take the log-probabilities of the responses under the policy that starts the update."""

    class Reads(ModelReads):
        calculate_entropy: f.CalculateEntropy = True
        calculate_sum_pi_squared: f.CalculateSumPiSquared = False
        compute_loss: f.ComputeLoss = False

    class Writes(BatchSchema):
        old_log_probs: f.OldLogProbs
        entropys: f.Entropys
        sum_pi_squared: Annotated[f.SumPiSquared, When(SUM_PI_SQUARED)]


class LogEntropy(StageSchema):
    """Take the entropy out of the batch into the trainer's figures, and how far rollout and actor disagree."""

    drops = ("entropys",)

    class Reads(BatchSchema):
        entropys: f.Entropys
        response_mask: f.ResponseMask
        responses: f.Responses
        old_log_probs: f.OldLogProbs
        rollout_log_probs: Annotated[f.RolloutLogProbs, When(SAMPLING_LOG_PROBS)]


class UseRolloutLogProbs(StageSchema):
    """Take the log-probabilities of the rollout for those of the old policy: bypass mode."""

    class Reads(BatchSchema):
        rollout_log_probs: f.RolloutLogProbs

    class Writes(BatchSchema):
        old_log_probs: f.OldLogProbs


class ComputeRefLogProb(StageSchema):
    """Take the log-probabilities of the responses under a frozen reference policy, which is a model of its own."""

    class Reads(ModelReads):
        calculate_entropy: f.CalculateEntropy = False
        compute_loss: f.ComputeLoss = False

    class Writes(BatchSchema):
        ref_log_prob: f.RefLogProb


class ComputeRefLogProbInActor(StageSchema):
    """Take the log-probabilities of the responses under the actor without its LoRA adapter.

    `no_lora_adapter` says so for this one call; the trainer sets it on a copy of the batch.
    """

    class Reads(ModelReads):
        calculate_entropy: f.CalculateEntropy = False
        compute_loss: f.ComputeLoss = False
        no_lora_adapter: f.NoLoraAdapter = True

    class Writes(BatchSchema):
        ref_log_prob: f.RefLogProb


class ComputeValues(StageSchema):
    """Ask the critic what return it expects at each response token."""

    class Reads(ModelReads):
        compute_loss: f.ComputeLoss = False

    class Writes(BatchSchema):
        values: f.Values


class CorrectRollout(StageSchema):
    """Weigh tokens by how much likelier the actor finds them than the rollout did, and reject what is too far off."""

    class Reads(OldLogProbsSpeak, RolloutLogProbsSpeak):
        pass

    class Writes(BatchSchema):
        response_mask: f.ResponseMask
        rollout_is_weights: Annotated[f.RolloutIsWeights, When(IS_WEIGHTS)]
