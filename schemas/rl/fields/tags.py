"""Tags: what the controller of the newer trainer knows of a row without fetching it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from batchpact.schemas.markers import Name, Tag

Status = Annotated[
    Tag[str],
    Field(
        description="Of a prompt: pending, running, finished or failure; of an answer: success. Source: the agent loop."
    ),
]
IsPrompt = Annotated[
    Tag[bool],
    Field(description="Whether the key is that of a prompt, whose answers are other keys. Source: the trainer."),
]
PromptLen = Annotated[Tag[int], Field(ge=0, description="Tokens of the prompt. Source: the agent loop.")]
ResponseLen = Annotated[Tag[int], Field(ge=0, description="Tokens of the response. Source: the agent loop.")]
SeqLen = Annotated[
    Tag[int], Field(ge=0, description="Tokens of both together, by which rows are balanced. Source: the agent loop.")
]
SampledAt = Annotated[
    Tag[int],
    Name("global_steps"),
    Field(ge=0, description="The step in which the prompt was taken from the dataset. Source: the trainer."),
]
FirstWeights = Annotated[
    Tag[int | None],
    Name("min_global_steps"),
    Field(description="The step whose weights wrote the first token. Source: the inference server."),
]
LastWeights = Annotated[
    Tag[int | None],
    Name("max_global_steps"),
    Field(description="The step whose weights wrote the last token. Source: the inference server."),
]
IsPadding = Annotated[
    Tag[bool],
    Field(description="Whether the row was made up to fill a batch; metrics leave it out. Source: the trainer."),
]
