"""The vocabulary: the fields of GRPO and PPO training, each once, under the names that verl gives them.

A field type is used where a schema declares the field:

    class Reads(BatchSchema):
        advantages: Advantages
        response_mask: ResponseMask

Dims: `batch` is rows (prompts after they were repeated for their responses), `prompt` and `response` are tokens. A
prompt is padded on the left and a response on the right, so that every response starts at the same position.
"""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32, Int64
from pydantic import Field
from torch import Tensor

from batchpact.schemas.markers import Arg, Binary, Finite, From, Meta, NonTensor

# --- tokens -------------------------------------------------------------------------------------------------------

Prompts = Annotated[
    Int64[Tensor, "batch prompt"],
    Field(ge=0, description="Token ids of the prompts, padded on the left. Source: the dataset's tokenizer."),
]
Responses = Annotated[
    Int64[Tensor, "batch response"],
    Field(ge=0, description="Token ids of the sampled responses, padded on the right. Source: rollout."),
]
InputIds = Annotated[
    Int64[Tensor, "batch prompt+response"],
    Field(ge=0, description="Prompts followed by responses: what the models are run on. Source: rollout."),
]
AttentionMask = Annotated[
    Int64[Tensor, "batch prompt+response"],
    Binary(),
    Field(description="1 where an input token is real, 0 where it is padding on either side. Source: rollout."),
]
PositionIds = Annotated[
    Int64[Tensor, "batch prompt+response"],
    Field(ge=0, description="The place of each input token in its text, from 0, without padding. Source: rollout."),
]
ResponseMask = Annotated[
    Int64[Tensor, "batch response"],
    Binary(),
    Field(
        description="1 where a response token was sampled by the policy and counts in losses and sums, the end token "
        "included; 0 after it. Source: rollout."
    ),
]

# --- log-probabilities --------------------------------------------------------------------------------------------

OldLogProbs = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="Natural log-probability of each response token under the policy that starts the update, before "
        "any step. Source: the actor; the denominator of the ratio in Schulman et al. 2017, arXiv:1707.06347."
    ),
]
RefLogProb = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="Natural log-probability of each response token under the frozen reference policy. Source: the "
        "reference model; the KL penalty of Shao et al. 2024, arXiv:2402.03300."
    ),
]

# --- rewards and advantages ---------------------------------------------------------------------------------------

TokenLevelScores = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="The reward of a response on its last real token, 0 elsewhere, before any penalty. Source: the "
        "reward function or model."
    ),
]
TokenLevelRewards = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="Token-level scores less the KL penalty, where one is applied in the reward; the scores themselves "
        "where none is. Source: the trainer."
    ),
]
Advantages = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="How much better a response was than its group, in standard deviations, on each of its tokens; "
        "0 outside the mask. Source: the estimator; GRPO in Shao et al. 2024, arXiv:2402.03300."
    ),
]
Returns = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="What a critic would be fitted to; the advantages where there is no critic. Source: the estimator."
    ),
]

# --- rows ---------------------------------------------------------------------------------------------------------

Uid = Annotated[
    NonTensor[str],
    Field(description="The prompt that a row belongs to: the responses to one prompt share it. Source: the trainer."),
]
DataSource = Annotated[
    NonTensor[str],
    Field(description="The dataset that a row comes from; it chooses the reward function. Source: the dataset."),
]
GroundTruth = Annotated[
    NonTensor[str],
    Field(description="The right answer, as text, for a verifiable reward. Source: the dataset."),
]

# --- the batch as a whole -----------------------------------------------------------------------------------------

Temperature = Annotated[
    Meta[float],
    Field(
        gt=0, description="The sampling temperature; log-probabilities are taken at the same one. Source: the config."
    ),
    From("actor_rollout_ref.rollout.temperature"),
]
GlobalSteps = Annotated[
    Meta[int], Field(ge=0, description="The number of the training step, from 1. Source: the trainer.")
]
Metrics = Annotated[
    Meta[dict[str, float]], Field(description="Figures for the log, by name. Source: the stage that writes them.")
]

# --- arguments ----------------------------------------------------------------------------------------------------

ResponsesPerPrompt = Annotated[
    Arg[int],
    From("actor_rollout_ref.rollout.n"),
    Field(ge=1, description="How many responses are sampled for each prompt: the size of a group."),
]
KlCoef = Annotated[
    Arg[float],
    From("algorithm.kl_ctrl.kl_coef"),
    Field(ge=0, description="The weight of the KL penalty in the reward."),
]
KlLossCoef = Annotated[
    Arg[float],
    From("actor_rollout_ref.actor.kl_loss_coef"),
    Field(ge=0, description="The weight of the KL term in the policy loss."),
]
ClipRatio = Annotated[
    Arg[float],
    From("actor_rollout_ref.actor.clip_ratio"),
    Field(
        gt=0,
        description="How far the ratio of new to old probability may leave 1 (Schulman et al. 2017, arXiv:1707.06347).",
    ),
]
