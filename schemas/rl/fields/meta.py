"""What holds for the whole batch: one value, in meta."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from batchpact.schemas.markers import From, Meta, Name
from batchpact.schemas.policies import Merge

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
Validate = Annotated[
    Meta[bool],
    Name("validate"),
    Field(description="Whether the batch validates and does not train. Source: the trainer."),
]
EosTokenId = Annotated[
    Meta[int],
    Field(ge=0, description="The token that ends a text. Source: the older trainer's validation; nobody reads it."),
]
PadTokenId = Annotated[
    Meta[int],
    Field(ge=0, description="The token that pads a text. Source: the older trainer's validation; nobody reads it."),
]
RecomputeLogProb = Annotated[
    Meta[bool],
    Field(
        description="Whether the rollout takes log-probabilities again. Source: the older trainer's validation, as "
        "false; nobody reads it."
    ),
]
ValidationDoSample = Annotated[
    Meta[bool],
    Name("do_sample"),
    Field(
        description="Whether a validation samples. Source: the older trainer's validation; nobody reads it, as the "
        "agent loop takes the temperature from the config."
    ),
]
GlobalTokenNum = Annotated[
    Meta[list[int]],
    Field(description="Real tokens of each row of the whole batch, prompts included, for MFU. Source: the trainer."),
]
ImagesSeqlens = Annotated[
    Meta[list[int]],
    Field(description="Patches of every image of the whole batch, for MFU. Source: the trainer."),
]
RewardExtraKeys = Annotated[
    Meta[list[str]],
    Field(description="The names of the columns that the reward function added to the batch. Source: the reward loop."),
]
Timing = Annotated[
    Meta[dict[str, float]],
    Field(description="Seconds that parts of the rollout took, by name. Source: the agent loop."),
    Merge("max"),
]
Metrics = Annotated[
    Meta[dict[str, float]], Field(description="Figures for the log, by name. Source: the stage that writes them.")
]
UpdateMetrics = Annotated[
    Meta[dict[str, Any]],
    Name("metrics"),
    Field(description="Figures of an update, one or a list of one per mini-batch. Source: the worker that updates."),
    Merge("collect"),
]
RolloutMetrics = Annotated[
    Meta[list[dict[str, Any]]],
    Name("metrics"),
    Field(description="Seconds and preemptions of each row's rollout, a dict per row. Source: the agent loop."),
    Merge("collect"),
]
ValidationMetrics = Annotated[
    Meta[dict[str, float]],
    Field(description="Figures of a validation, by dataset and name. Source: the trainer."),
]
AdapterLeftOut = Annotated[
    Meta[bool],
    Name("no_lora_adapter"),
    Field(
        description="The argument no_lora_adapter where it stands in the batch, and so goes with every later call. "
        "Source: the newer trainer, for the reference of an actor that is trained by LoRA."
    ),
]
MultiTurn = Annotated[
    Meta[bool],
    Field(description="Whether rollouts have several turns. Source: the config, for the actor's update."),
    From("actor_rollout_ref.rollout.multi_turn.enable"),
]
