"""The fields of the vocabulary as jagged tensors: one length a row and no padding, as verl's newer trainer has them.

What a field means is said once, where it is declared dense; here it gets its ragged axis. The engines return one number
for every token of the text, prompt included, and one place early, as a model's output at one token is about the next;
the trainer cuts the response out of it.
"""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Float32
from pydantic import Field
from torch import Tensor

from batchpact.schemas.markers import Finite, Jagged
from batchpact.schemas.rl.fields import log_probs, rewards, tokens

Prompts = Annotated[tokens.Prompts, Jagged("prompt")]
Responses = Annotated[tokens.Responses, Jagged("response")]
InputIds = Annotated[tokens.InputIds, Jagged("prompt+response")]
PositionIds = Annotated[tokens.PositionIds, Jagged("prompt+response")]
MultiAxisPositionIds = Annotated[tokens.MultiAxisPositionIds, Jagged("prompt+response")]
ResponseMask = Annotated[tokens.ResponseMask, Jagged("response")]
LossMask = Annotated[tokens.LossMask, Jagged("response")]
RoutedExperts = Annotated[tokens.RoutedExperts, Jagged("prompt+response")]
TeacherIds = Annotated[tokens.TeacherIds, Jagged("prompt+response")]

RolloutLogProbs = Annotated[log_probs.RolloutLogProbs, Jagged("response")]
OldLogProbs = Annotated[log_probs.OldLogProbs, Jagged("response")]
RefLogProb = Annotated[log_probs.RefLogProb, Jagged("response")]
RolloutIsWeights = Annotated[log_probs.RolloutIsWeights, Jagged("response")]
TeacherLogprobs = Annotated[log_probs.TeacherLogprobs, Jagged("prompt+response")]

RmScores = Annotated[rewards.RmScores, Jagged("response")]
TokenLevelRewards = Annotated[rewards.TokenLevelRewards, Jagged("response")]
Values = Annotated[rewards.Values, Jagged("response")]
Advantages = Annotated[rewards.Advantages, Jagged("response")]
Returns = Annotated[rewards.Returns, Jagged("response")]

Entropy = Annotated[
    Float32[Tensor, "batch response"],
    Jagged("response"),
    Finite(),
    Field(
        ge=-log_probs.ROUNDING,
        description="Entropy of the policy's distribution at each response token, in nats. Source: the actor.",
    ),
]

# --- what the engines return: one number for every token of the text ----------------------------------------------

WholeLogProbs = Annotated[
    Float32[Tensor, "batch prompt+response"],
    Jagged("prompt+response"),
    Finite(),
    Field(
        le=log_probs.ROUNDING,
        description="Natural log-probability, at each token of the text, of the one that follows. Source: whichever "
        "model ran last, the actor or the reference.",
    ),
]
WholeEntropy = Annotated[
    Float32[Tensor, "batch prompt+response"],
    Jagged("prompt+response"),
    Finite(),
    Field(
        ge=-log_probs.ROUNDING,
        description="Entropy, at each token of the text, of the distribution of the next. Source: the actor.",
    ),
]
WholeValues = Annotated[
    Float32[Tensor, "batch prompt+response"],
    Jagged("prompt+response"),
    Finite(),
    Field(description="What the critic expects the return to be, at each token of the text. Source: the critic."),
]
