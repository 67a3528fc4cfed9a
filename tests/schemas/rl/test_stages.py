"""The stages of both trainers: healthy batches pass at every boundary, and one key is one field."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import pytest
import torch

from batchpact.schemas import BatchSchema, FieldSpec, StageSchema
from batchpact.schemas.diagnose import Context, diagnose
from batchpact.schemas.rl import dense as dense_package
from batchpact.schemas.rl import queue as queue_package
from batchpact.schemas.rl.conditions import GROUP_RELATIVE, OPTIMAL_TOKEN_BASELINES
from batchpact.schemas.rl.dense.advantages import ESTIMATORS, GroupEstimator, OptimalTokenBaseline
from batchpact.schemas.stage import reads_of, writes_of
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import check_values

from ..support import objects
from .batches import PROMPT, RESPONSE, ROWS, columns, dense, jagged, ragged, texts


def stages_of(package: Any) -> list[type[StageSchema]]:
    """The stages that are declared in the modules of a package."""
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, StageSchema) and value.__module__ == module.__name__
    ]


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
    numbers = ("index", "min_global_steps", "max_global_steps", "num_turns", "prompt_len", "response_len", "seq_len")
    return {
        **texts_of_rows,
        **{name: objects(*range(ROWS)) for name in numbers},
        **{name: objects(*[None] * ROWS) for name in ("turn_scores", "tool_rewards")},
        "batch_keys": objects("a_0_0", "a_1_0", "b_0_0", "b_1_0"),
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
        if field.key == "metrics":
            meta["metrics"] = [{"gen": 1.0}] * ROWS if place.type and place.type.startswith("list") else {"loss": 0.5}
    return stores._replace(tensors=tensors, meta=meta)


def passes(stage: type[StageSchema], batch: Stores) -> None:
    """The batch passes where the stage reads it, and what is written has the sizes of what was read."""
    sizes = None
    for schema in (reads_of(stage), writes_of(stage)):
        stores, plan = for_schema(schema, batch), schema.__batchpact__.plan
        assert diagnose(plan, stores, Context(given=sizes or {})).violations == []
        assert check_values(schema, stores) == []
        sizes = plan.sizes(stores)


@pytest.mark.parametrize("stage", DENSE, ids=names)
def test_a_healthy_batch_passes_at_both_boundaries_of_the_older_trainer(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch())


@pytest.mark.parametrize("stage", QUEUE, ids=names)
def test_a_healthy_batch_passes_at_both_boundaries_of_the_newer_trainer(stage: type[StageSchema]) -> None:
    passes(stage, dense_batch() if stage.__name__ in WORKS_ON_A_FETCHED_BATCH else queue_batch())


@pytest.mark.parametrize("stage", [*DENSE, *QUEUE], ids=names)
def test_a_stage_says_in_a_sentence_what_it_does(stage: type[StageSchema]) -> None:
    assert stage.__batchpact__.description.endswith(".")


@pytest.mark.parametrize("stages", [DENSE, QUEUE], ids=["dense", "queue"])
def test_a_key_has_one_placement_and_dtype_in_all_stages(stages: list[type[StageSchema]]) -> None:
    found: dict[str, set[tuple[Any, ...]]] = {}
    for stage in stages:
        for field in (*stage.__batchpact__.reads.fields, *stage.__batchpact__.writes.fields):
            found.setdefault(field.key, set()).add((field.places[0].placement, field.places[0].dtype))

    assert {key: kinds for key, kinds in found.items() if len(kinds) > 1} == {}


def test_the_estimators_of_one_contract_differ_in_arguments_only() -> None:
    """A pipeline has them in one place."""
    for name in GROUP_RELATIVE:
        assert batch_fields(ESTIMATORS[name]) == batch_fields(GroupEstimator), name
    for name in OPTIMAL_TOKEN_BASELINES:
        assert batch_fields(ESTIMATORS[name]) == batch_fields(OptimalTokenBaseline), name


def batch_fields(stage: type[StageSchema]) -> list[FieldSpec]:
    """The fields of the batch that a stage reads and writes."""
    record = stage.__batchpact__
    fields = (*record.reads.fields, *record.writes.fields)
    return [field for field in fields if field.places[0].placement != "arg"]


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("gae", {"values"}),
        ("grpo", {"uid"}),
        ("gdpo", {"uid", "prompts", "attention_mask"}),
        ("reinforce_plus_plus", set()),
        ("remax", {"reward_baselines"}),
        ("optimal_token_baseline", {"uid", "old_log_probs", "sum_pi_squared", "rollout_is_weights"}),
    ],
)
def test_what_an_estimator_reads_beside_rewards_and_mask(name: str, reads: set[str]) -> None:
    keys = {field.key for field in ESTIMATORS[name].__batchpact__.reads.fields if field.places[0].placement != "arg"}

    assert keys == {"token_level_rewards", "response_mask"} | reads


def test_the_stages_are_found() -> None:
    """A guard for the tests above."""
    assert {"Generate", "UpdateActor", "Gae", "CorrectRollout"} <= {stage.__name__ for stage in DENSE}
    assert {"Generate", "UpdateActor", "CutValues"} <= {stage.__name__ for stage in QUEUE}
    assert set(ESTIMATORS.values()) < set(DENSE)
