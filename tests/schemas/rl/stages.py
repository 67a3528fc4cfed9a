"""What the tests of stages share: the stages of a module, and batches with everything that any of them reads."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import torch

from batchpact.schemas import BatchSchema, StageSchema
from batchpact.schemas.columns import names_in
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.narrowing import conditions_of, narrowed
from batchpact.schemas.rl import dense as dense_package
from batchpact.schemas.rl import queue as queue_package
from batchpact.schemas.stage import reads_of, writes_of
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values

from ..support import objects
from .batches import PROMPT, RESPONSE, ROWS, columns, dense, jagged, ragged, texts


def stages_in(module: ModuleType) -> list[type[StageSchema]]:
    """The stages that a module declares."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, StageSchema) and value.__module__ == module.__name__
    ]


def stages_of(package: ModuleType) -> list[type[StageSchema]]:
    """The stages that the modules of a package declare."""
    found = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    return [stage for name in found for stage in stages_in(importlib.import_module(name))]


DENSE, QUEUE = stages_of(dense_package), stages_of(queue_package)
WORKS_ON_A_FETCHED_BATCH = ("PutScores", "PutAdvantages")
ARGUMENTS = {
    "global_batch_size": 4,
    "mini_batch_size": 2,
    "dataloader_kwargs": {"shuffle": False},
    "gdpo_reward_keys": ["format", "accuracy"],
}


def names(stage: type[StageSchema]) -> str:
    return f"{stage.__module__.rpartition('.')[2]}.{stage.__name__}"


def dense_batch() -> Stores:
    """A dense batch with everything that any stage reads."""
    width = (ROWS, PROMPT + RESPONSE)
    made = dense(
        dummy_tensor=torch.zeros(ROWS, 1, dtype=torch.uint8),
        routed_experts=torch.zeros(*width, 2, 3, dtype=torch.int16),
        teacher_ids=torch.zeros(*width, 1, dtype=torch.int32),
        teacher_logprobs=torch.zeros(*width, 1),
    )
    figures = {"timing": {"gen": 1.0}, "validation_metrics": {"acc": 0.5}}
    return Stores(made.tensors, {**columns(), **more_columns()}, {**made.meta, **figures}, ARGUMENTS)


def more_columns() -> dict[str, Any]:
    texts_of_rows = {name: objects(*[{}] * ROWS) for name in ("tools_kwargs", "interaction_kwargs", "extra_fields")}
    numbers = (
        "index",
        "min_global_steps",
        "max_global_steps",
        "num_turns",
        "session_id",
        "prompt_len",
        "response_len",
        "seq_len",
    )
    return {
        **texts_of_rows,
        **{name: objects(*range(ROWS)) for name in numbers},
        **{name: objects(*[None] * ROWS) for name in ("turn_scores", "tool_rewards", "extras")},
        "batch_keys": objects("a_0_0", "a_1_0", "b_0_0", "b_1_0"),
        "acc": objects(True, False, True, True),
        "format": objects(1.0, 0.0, 1.0, 1.0),
        "accuracy": objects(1.0, 0.0, 0.5, 1.0),
        "status": objects(*["success"] * ROWS),
    }


def queue_batch() -> Stores:
    """A jagged batch with everything that any stage reads after the driver has cut the responses out."""
    made = jagged()
    whole = texts()["attention_mask"].bool()
    tail = whole[:, PROMPT:]
    width = (ROWS, PROMPT + RESPONSE)
    more = {
        "entropy": ragged(torch.rand(ROWS, RESPONSE), tail),
        "log_probs": ragged(-torch.rand(width), whole),
        "routed_experts": ragged(torch.zeros(*width, 2, 3, dtype=torch.int16), whole),
        "teacher_ids": ragged(torch.zeros(*width, 1, dtype=torch.int32), whole),
        "teacher_logprobs": ragged(torch.zeros(*width, 1), whole),
    }
    figures = {"validation_metrics": {"acc": 0.5}}
    return Stores({**made.tensors, **more}, {**columns(), **more_columns()}, {**made.meta, **figures}, ARGUMENTS)


def for_schema(schema: type[BatchSchema], stores: Stores) -> Stores:
    """The batch as this stage finds or leaves it: what is written over has another type before and after."""
    tensors, meta = dict(stores.tensors), dict(stores.meta)
    for field in schema.__batchpact__.spec.fields:
        place = field.places[0]
        if place.placement == "tensor" and place.ragged == "prompt+response" and field.key in ("entropy", "values"):
            width = (ROWS, PROMPT + RESPONSE)
            tensors[field.key] = ragged(torch.rand(width), texts()["attention_mask"].bool())
        if field.key == "no_lora_adapter" and place.placement == "meta":  # elsewhere it is an argument
            meta["no_lora_adapter"] = True
        if field.key == "metrics":
            meta["metrics"] = [{"gen": 1.0}] * ROWS if place.type and place.type.startswith("list") else {"loss": 0.5}
    return stores._replace(tensors=tensors, meta=meta)


def with_columns(schema: type[BatchSchema], stores: Stores) -> type[BatchSchema]:
    """The schema with its open columns under the names that the batch and the call say."""
    compiled = schema.__batchpact__
    said = {**stores.meta, "algorithm.gdpo_reward_keys": ARGUMENTS["gdpo_reward_keys"]}
    names = names_in(compiled.spec, compiled.unnamed, lambda subject: said.get(subject.name, subject.default))
    return narrowed(schema, dict.fromkeys(conditions_of(compiled.spec), True), names)


def passes(stage: type[StageSchema], batch: Stores) -> None:
    """The batch passes where the stage reads it, and what is written has the sizes of what was read."""
    sizes = None
    for declared in (reads_of(stage), writes_of(stage)):
        schema = with_columns(declared, batch)
        stores, plan = for_schema(schema, batch), schema.__batchpact__.plan
        assert diagnose(plan, stores, Context(given=sizes or {})).violations == []
        assert check_values(schema, stores) == []
        sizes = plan.sizes(stores)
