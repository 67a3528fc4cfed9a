"""Rewards, values, advantages and returns."""

from __future__ import annotations

from typing import Annotated, Any

from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas.markers import Finite, NonTensor
from batchpact.schemas.policies import Pad

RmScores = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="The reward of a response on its last real token, 0 elsewhere. Source: the reward loop, which asks "
        "a function or a model."
    ),
    Pad(0.0),
]
RewardFigure = Annotated[
    NonTensor[Any],
    Field(
        description="What a reward function says of a row beside its reward: a number, a truth or a text, in a column "
        "under the name that it has in the function's result. Source: the reward loop."
    ),
]
RewardPart = Annotated[
    NonTensor[float],
    Finite(),
    Field(
        description="One part of a reward, which GDPO normalises by itself. Source: the reward function, as one of its "
        "figures."
    ),
]
TokenLevelScores = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="The reward of a response on its last real token, 0 elsewhere, before any penalty. Source: the "
        "reward function or model."
    ),
    Pad(0.0),
]
TokenLevelRewards = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="Token-level scores less the KL penalty, where one is applied in the reward; the scores themselves "
        "where none is. Source: the trainer."
    ),
    Pad(0.0),
]
RewardBaselines = Annotated[
    Float32[Tensor, "batch"],
    Finite(),
    Field(
        description="The reward of the greedy answer to the same prompt. Source: the trainer, for ReMax (Li et al. "
        "2023, arXiv:2310.10505)."
    ),
    Pad(0.0),
]
Values = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(description="What the critic expects the return to be, before each response token. Source: the critic."),
    Pad(0.0),
]
Advantages = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="How much better each response token was than expected: of the critic (GAE) or of the group "
        "(GRPO and relatives). 0 outside the mask, but for GAE. Source: the estimator; GAE in Schulman et al. 2015, "
        "arXiv:1506.02438; GRPO in Shao et al. 2024, arXiv:2402.03300."
    ),
    Pad(0.0),
]
Returns = Annotated[
    Float32[Tensor, "batch response"],
    Finite(),
    Field(
        description="What a critic would be fitted to; the advantages where there is no critic. Source: the estimator."
    ),
    Pad(0.0),
]
