"""What goes with one call: hyperparameters that the configuration gives, and switches that the trainer sets.

None of them enters the batch, so that a switch of one call cannot reach the next. The last ones are set by workers and
engines, in the part of the batch that each of them works on.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from batchpact.schemas.markers import Arg, From

ResponsesPerPrompt = Annotated[
    Arg[int],
    From("actor_rollout_ref.rollout.n"),
    Field(ge=1, description="How many responses are sampled for each prompt: the size of a group."),
]
Gamma = Annotated[
    Arg[float],
    From("algorithm.gamma"),
    Field(ge=0, le=1, description="The discount of a reward that comes one token later."),
]
Lam = Annotated[
    Arg[float],
    From("algorithm.lam"),
    Field(ge=0, le=1, description="How far GAE trusts rewards over values (Schulman et al. 2015, arXiv:1506.02438)."),
]
NormAdvByStd = Annotated[
    Arg[bool],
    From("algorithm.norm_adv_by_std_in_grpo"),
    Field(description="Whether advantages are divided by the spread of their group; not so in arXiv:2503.20783."),
]
KlCoef = Annotated[
    Arg[float],
    From("algorithm.kl_ctrl.kl_coef"),
    Field(ge=0, description="The weight of the KL penalty in the reward."),
]
KlPenalty = Annotated[
    Arg[str],
    From("algorithm.kl_penalty"),
    Field(description="How the KL divergence is estimated: kl, abs, mse, low_var_kl or full."),
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
GdpoRewardKeys = Annotated[
    Arg[list[str]],
    From("algorithm.gdpo_reward_keys"),
    Field(description="The columns with the parts of a reward that GDPO normalises one by one."),
]
GdpoRewardWeights = Annotated[
    Arg[list[float]],
    From("algorithm.gdpo_reward_weights"),
    Field(description="The weights of these parts; equal where there are none."),
]
ReweightMethod = Annotated[
    Arg[str],
    From("algorithm.pf_ppo.reweight_method"),
    Field(description="How PF-PPO weighs rows by their score: pow, max_min or max_random (arXiv:2409.06957)."),
]
WeightPow = Annotated[
    Arg[float],
    From("algorithm.pf_ppo.weight_pow"),
    Field(description="The power to which PF-PPO takes a score."),
]
CalculateEntropy = Annotated[Arg[bool], Field(description="Whether the entropy is returned beside log-probs.")]
CalculateSumPiSquared = Annotated[
    Arg[bool],
    From("actor_rollout_ref.actor.calculate_sum_pi_squared"),
    Field(description="Whether the sum of squared probabilities is returned beside log-probs."),
]
ComputeLoss = Annotated[Arg[bool], Field(description="Whether a forward pass computes the loss, too.")]
NoLoraAdapter = Annotated[
    Arg[bool],
    Field(description="Whether the adapter is left out, which makes a reference of an actor that is trained by LoRA."),
]
DistillationUseTopk = Annotated[
    Arg[bool], Field(description="Whether the loss compares with the teacher's likeliest tokens.")
]
DistillationOnly = Annotated[Arg[bool], Field(description="Whether the policy loss is left out beside distillation.")]
GlobalBatchSize = Annotated[Arg[int], Field(ge=1, description="Rows of one optimiser step, over all ranks.")]
MiniBatchSize = Annotated[Arg[int], Field(ge=1, description="Rows of one mini-batch, over all ranks.")]
Epochs = Annotated[Arg[int], Field(ge=1, description="How often an update goes through the batch.")]
Seed = Annotated[Arg[int], Field(description="The seed by which an update shuffles its rows.")]
DataloaderKwargs = Annotated[
    Arg[dict[str, Any]], Field(description="How an update makes mini-batches: shuffle or not.")
]

# --- of workers and engines -------------------------------------------------------------------------------------------

MaxSeqLen = Annotated[Arg[int], Field(ge=1, description="The width of whole texts before their padding was taken out.")]
MaxResponseLen = Annotated[
    Arg[int], Field(ge=1, description="The width of responses, to which results are padded again.")
]
Indices = Annotated[Arg[Any], Field(description="Where each real token stood in the padded texts, as a tensor.")]
NumMiniBatch = Annotated[Arg[int], Field(ge=1, description="How many mini-batches there are, where no size is given.")]
DisableAutoOffload = Annotated[Arg[bool], Field(description="Whether a model stays on its device after the call.")]
UpdateLrScheduler = Annotated[Arg[bool], Field(description="Whether the learning rate takes its step with this batch.")]
EnableRoutingReplay = Annotated[Arg[bool], Field(description="Whether experts are those that were recorded (R3).")]
UseRemovePadding = Annotated[Arg[bool], Field(description="Whether a model is run on tokens without padding.")]
UseDynamicBsz = Annotated[Arg[bool], Field(description="Whether micro-batches have as many tokens, or as many rows.")]
MaxTokenLenPerGpu = Annotated[Arg[int], Field(ge=1, description="Tokens of a micro-batch at most, where it has these.")]
MicroBatchSizePerGpu = Annotated[Arg[int], Field(ge=1, description="Rows of a micro-batch, where it has these.")]
UseFusedKernels = Annotated[Arg[bool], Field(description="Whether log-probs come from a kernel without logits.")]
DpSize = Annotated[Arg[int], Field(ge=1, description="Over how many ranks a mini-batch is spread.")]
BatchNumTokens = Annotated[
    Arg[int],
    Field(ge=0, description="Tokens that count in a mini-batch, over all ranks: what a token mean is divided by."),
]
