"""Log-probabilities and what is made of them.

They are natural logarithms, one for each response token, at most 0 up to rounding. None of them has a `Pad`: a
log-probability of 0 is probability 1, so a missing one has no neutral value, and nobody fills one in silently. verl
itself leaves 0 at padded columns, where the mask keeps it out of every sum.
"""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas.markers import Finite
from batchpact.schemas.policies import Pad

ROUNDING = 1e-4
"""How far above 0 rounding may take a log-probability that is a difference of two numbers."""

RolloutLogProbs = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        le=ROUNDING,
        description="Natural log-probability of each response token as the inference engine sampled it; 0 on what a "
        "tool answered. Source: rollout, with actor_rollout_ref.rollout.calculate_log_probs.",
    ),
]
OldLogProbs = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        le=ROUNDING,
        description="Natural log-probability of each response token under the policy that starts the update, before "
        "any step. Source: the actor, or rollout in bypass mode; the denominator of the ratio in Schulman et al. 2017, "
        "arXiv:1707.06347.",
    ),
]
RefLogProb = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        le=ROUNDING,
        description="Natural log-probability of each response token under the frozen reference policy. Source: the "
        "reference model; the KL penalty of Shao et al. 2024, arXiv:2402.03300.",
    ),
]
Entropys = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        ge=-ROUNDING,
        description="Entropy of the policy's distribution at each response token, in nats. Source: the actor, beside "
        "old_log_probs.",
    ),
    Pad(0.0),
]
SumPiSquared = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        ge=0,
        le=1 + ROUNDING,
        description="The sum of the squared probabilities of the whole vocabulary at each response token, for optimal "
        "token baselines. Source: the actor, with actor_rollout_ref.actor.calculate_sum_pi_squared.",
    ),
    Pad(0.0),
]
RolloutIsWeights = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        ge=0,
        description="Importance weights of the policy against the rollout, truncated; 0 outside the mask. Source: "
        "rollout correction, with algorithm.rollout_correction.rollout_is.",
    ),
    Pad(0.0),
]
TeacherLogprobs = Annotated[
    Float32[Tensor, "batch prompt+response candidate"],
    Finite(),
    Field(
        le=ROUNDING,
        description="Natural log-probability of each of teacher_ids under the teacher, for every token of the text. "
        "Source: the teacher's server, for distillation on the policy's own samples.",
    ),
]
