"""What a row has beside its tensors: where it comes from, what its reward needs, and how it was sampled."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from batchpact.schemas.markers import Name, NonTensor
from batchpact.schemas.policies import Group, Key, Pad

# --- from the dataset ---------------------------------------------------------------------------------------------

Uid = Annotated[
    NonTensor[str],
    Field(description="The prompt that a row belongs to: the responses to one prompt share it. Source: the trainer."),
    Group(),
    Pad(""),
]
DataSource = Annotated[
    NonTensor[str],
    Field(description="The dataset that a row comes from; it chooses the reward function. Source: the dataset."),
]
GroundTruth = Annotated[
    NonTensor[str],
    Field(description="The right answer, as text, for a verifiable reward. Source: the dataset."),
]
RewardModel = Annotated[
    NonTensor[dict[str, Any]],
    Field(description="What the reward needs to know, the right answer under ground_truth. Source: the dataset."),
]
ExtraInfo = Annotated[
    NonTensor[dict[str, Any]],
    Field(description="Whatever else a dataset knows of a row, for reward functions and tools. Source: the dataset."),
]
RawPrompt = Annotated[
    NonTensor[list[Any]],
    Field(description="The prompt as chat messages, before any template. Source: the dataset."),
]
DatasetIndex = Annotated[
    NonTensor[int],
    Name("index"),
    Field(description="The number of the row in its dataset, for traces. Source: extra_info of the dataset."),
]
ToolsKwargs = Annotated[
    NonTensor[dict[str, Any]],
    Field(description="What the tools of an agent are made with. Source: extra_info of the dataset."),
]
InteractionKwargs = Annotated[
    NonTensor[dict[str, Any]],
    Field(description="What the other side of a conversation is made with. Source: extra_info of the dataset."),
]
AgentName = Annotated[
    NonTensor[str],
    Field(description="The agent loop that answers a prompt. Source: the dataset, or the config's default."),
]

RolloutN = Annotated[
    NonTensor[int],
    Name("__rollout_n__"),
    Field(
        ge=1,
        description="How often the newer trainer answers this prompt, where it is another number than the config's. "
        "Source: the dataset.",
    ),
]

# --- of one rollout -----------------------------------------------------------------------------------------------

DoSample = Annotated[
    NonTensor[bool],
    Name("__do_sample__"),
    Field(description="Whether a row is sampled, or answered greedily as a baseline of ReMax. Source: the trainer."),
]
Priority = Annotated[
    NonTensor[int],
    Field(
        ge=0,
        description="The place of a row in the inference server's queue, the lowest first; each has one of its own. "
        "Source: the older trainer's agent loop manager.",
    ),
]
SessionId = Annotated[
    NonTensor[int],
    Field(
        ge=0,
        description="Which of the answers to its prompt a row belongs to, from 0. Source: the newer trainer's agent "
        "loop, as the middle part of the row's key.",
    ),
]
NumTurns = Annotated[
    NonTensor[int],
    Name("__num_turns__"),
    Field(ge=0, description="Turns of the conversation; 2 where one question had one answer. Source: the agent loop."),
    Pad(0),
]
QueueNumTurns = Annotated[
    NonTensor[int],
    Name("num_turns"),
    Field(
        ge=0,
        description="Turns of the conversation, as the newer trainer calls them; 0 in padding. Source: the agent loop.",
    ),
    Pad(0),
]
MultiModalInputs = Annotated[
    NonTensor[dict[str, Any]],
    Field(description="Pixels, audio and their grids, as a processor made them; empty for text. Source: rollout."),
]
MmProcessorKwargs = Annotated[
    NonTensor[dict[str, Any] | None],
    Field(
        description="What the processor was called with in the rollout, and has to be called with again. Source: the "
        "agent loop."
    ),
]
MmProcessorOutput = Annotated[
    NonTensor[list[Any] | None],
    Field(description="Videos as SGLang takes them, for a teacher that it serves. Source: the agent loop."),
]
TurnScores = Annotated[
    NonTensor[list[Any] | None],
    Field(description="The score of each turn of a conversation, if there were any. Source: the agent loop."),
]
ToolRewards = Annotated[
    NonTensor[list[Any] | None],
    Field(description="The reward that each call of a tool gave, if there were any. Source: the agent loop."),
]
ToolCallCounts = Annotated[
    NonTensor[int],
    Field(ge=0, description="How many calls of tools a row made. Source: agent loops that count them."),
]
ToolExtraFields = Annotated[
    NonTensor[dict[str, Any]],
    Field(description="What an agent loop left for the reward function. Source: the agent loop."),
]
Extras = Annotated[
    NonTensor[Any],
    Field(description="Whatever an agent loop of one's own hands on under this name. Source: the agent loop."),
]
RewardScores = Annotated[
    NonTensor[dict[str, Any]],
    Field(
        description="Rewards that the rollout knows already, by the tool that gave them; handed to the reward function "
        "as rollout_reward_scores. Source: rollouts that score by themselves."
    ),
]
MinGlobalSteps = Annotated[
    NonTensor[int | None],
    Field(description="The step whose weights wrote the first token of a row. Source: the inference server."),
]
MaxGlobalSteps = Annotated[
    NonTensor[int | None],
    Field(description="The step whose weights wrote the last token of a row. Source: the inference server."),
]
NumCachedTokens = Annotated[
    NonTensor[int | None],
    Field(description="Tokens of the prompt that were in the server's cache. Source: the inference server."),
]
SpecNumDraftTokens = Annotated[
    NonTensor[int],
    Field(ge=0, description="Tokens that speculative decoding drafted. Source: the inference server."),
]
SpecNumAcceptedTokens = Annotated[
    NonTensor[int],
    Field(ge=0, description="Drafted tokens that were accepted. Source: the inference server."),
]
SpecNumVerifySteps = Annotated[
    NonTensor[int],
    Field(ge=0, description="Passes that verified drafted tokens. Source: the inference server."),
]
RequestId = Annotated[
    NonTensor[str],
    Field(description="The request under which a row was generated, for logs. Source: the agent loop."),
]
ExtraFields = Annotated[
    NonTensor[dict[str, Any]],
    Field(
        description="What an agent loop says beyond the common fields; the parts of the reward stand under "
        "reward_extra_info. Source: the newer trainer's agent loop."
    ),
]
BatchKeys = Annotated[
    NonTensor[str],
    Field(
        description="The key under which TransferQueue holds a row: uid, session and number of the output. Source: "
        "the replay buffer, as KVBatchMeta.keys."
    ),
    Key(),
]
