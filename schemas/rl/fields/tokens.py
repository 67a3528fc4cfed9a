"""Token ids, where each token stands in its text, and which tokens count.

A prompt is padded on the left and a response on the right, so that every response starts at the same column. In the
masks 1 means yes. `attention_mask` says what is text at all; `response_mask` says what the policy wrote itself, so that
what a tool answered counts in neither loss nor sums.
"""

from __future__ import annotations

from typing import Annotated

from jaxtyping import Int16, Int32, Int64, UInt8
from pydantic import Field
from torch import Tensor

from batchpact.schemas.markers import Binary, SameAs
from batchpact.schemas.policies import Pad

Prompts = Annotated[
    Int64[Tensor, "batch prompt"],
    Field(ge=0, description="Token ids of the prompts, padded on the left. Source: the dataset's tokenizer."),
    Pad(0, side="left"),
]
Responses = Annotated[
    Int64[Tensor, "batch response"],
    Field(ge=0, description="Token ids of the sampled responses, padded on the right. Source: rollout."),
    Pad(0),
]
InputIds = Annotated[
    Int64[Tensor, "batch prompt+response"],
    Field(ge=0, description="Prompts followed by responses: what the models are run on. Source: rollout."),
    Pad(0, side={"prompt": "left"}),
]
AttentionMask = Annotated[
    Int64[Tensor, "batch prompt+response"],
    Binary(),
    Field(description="1 where an input token is real, 0 where it is padding on either side. Source: rollout."),
    Pad(0, side={"prompt": "left"}),
]
WholeAttentionMask = Annotated[
    Int64[Tensor, "batch length"],
    Binary(),
    Field(
        description="The attention mask for a stage that reads neither prompts nor responses, and so knows of one "
        "length only. Source: rollout."
    ),
    Pad(0),
]
PositionIds = Annotated[
    Int64[Tensor, "batch prompt+response"],
    Field(ge=0, description="The place of each input token in its text, from 0, without padding. Source: rollout."),
    Pad(0, side={"prompt": "left"}),
]
MultiAxisPositionIds = Annotated[
    Int64[Tensor, "batch 4 prompt+response"],
    Field(
        ge=0,
        description="Places for rotary embeddings of several axes: that in the text, then time, height and width of "
        "an image or a video. Source: rollout, by the processor's get_rope_index.",
    ),
    Pad(0, side={"prompt": "left"}),
]
AnyPositionIds = Annotated[
    Int64[Tensor, "batch ... prompt+response"],
    Field(
        ge=0,
        description="The place of each input token in its text, from 0; for a vision model four rows of them, the "
        "first of which is that in the text. Source: rollout.",
    ),
    Pad(0, side={"prompt": "left"}),
]
ResponseMask = Annotated[
    Int64[Tensor, "batch response"],
    Binary(),
    Field(
        description="1 where a response token was sampled by the policy and counts in losses and sums, the end token "
        "included; 0 after it, on what a tool answered, and on what was rejected since. Source: rollout."
    ),
    Pad(0),
]
LossMask = Annotated[
    Int64[Tensor, "batch response"],
    Binary(),
    Field(
        description="The response mask under the name by which the engines count the tokens of a loss. Source: "
        "rollout, as a copy of response_mask."
    ),
    SameAs("response_mask"),
    Pad(0),
]
DummyTensor = Annotated[
    UInt8[Tensor, "batch 1"],
    Field(description="Nothing: a batch of prompts has no tensor of its own, and verl wants one. Source: the dataset."),
    Pad(0),
]
RoutedExperts = Annotated[
    Int16[Tensor, "batch prompt+response layer expert"],
    Field(
        ge=0,
        description="The experts that each token went to, by layer, for a mixture of experts to be replayed; 0 where "
        "the engine recorded none. Source: rollout (R3).",
    ),
    Pad(0, side={"prompt": "left"}),
]
TeacherIds = Annotated[
    Int32[Tensor, "batch prompt+response candidate"],
    Field(
        ge=0,
        description="The token ids that teacher_logprobs are about: the likeliest ones, or the one that stands there. "
        "Source: the teacher's server, for distillation on the policy's own samples.",
    ),
    Pad(0, side={"prompt": "left"}),
]
