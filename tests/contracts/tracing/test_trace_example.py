"""The example without its decorators: its contracts come back, but for what no batch shows."""

from __future__ import annotations

import types
from dataclasses import replace
from typing import Any

import pytest
import torch

from batchpact.contracts import Pipeline, trace
from batchpact.contracts.tracing.trace import Trace
from batchpact.dataproto import DataProto
from batchpact.schemas import StageSchema
from batchpact.schemas.rl import grpo
from grpo_arithmetic.data import prompt_batch
from grpo_arithmetic.faults import PROBLEMS
from grpo_arithmetic.pipeline import grpo_pipeline
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.settings import Settings
from tests.contracts.inferring.drafts import formatted, run
from tests.contracts.tracing import undecorated
from tests.contracts.tracing.records import differences, schema_differences
from tests.contracts.tracing.undecorated import undecorated_stages

SMALL = Settings(responses_per_prompt=2, prompts_per_step=3)
CONFIGURATIONS = [
    replace(SMALL, use_kl_in_reward=in_reward, use_kl_loss=in_loss)
    for in_reward in (False, True)
    for in_loss in (False, True)
]

# What a draft cannot know, and why.
EXPLAINED = {
    "generate": ["reads n: argument left out"],  # an argument comes from the configuration; it is in no batch
    "kl_in_reward": ["reads kl_coef: argument left out"],  # the same
    "update_actor": ["reads clip_ratio: argument left out", "reads kl_loss_coef: argument left out"],  # the same
}
PLANNED = {
    "kl_in_reward": "use_kl_in_reward",  # the example chooses its stages by Python's own if, and a draft by a condition
    "use_scores": "not use_kl_in_reward",  # the same
    "compute_ref_log_prob": None,  # runs where one of two keys says so, which no single key explains
}


def config_of(settings: Settings) -> dict[str, Any]:
    keys = ("use_kl_in_reward", "use_kl_loss")
    return {**settings.config(), **{key: getattr(settings, key) for key in keys}}


def traced(settings: Settings) -> Trace:
    """Two steps under one configuration."""
    torch.set_num_threads(settings.threads)
    stages = undecorated_stages(Policy(settings))
    with trace(undecorated, config=config_of(settings)) as record:
        for step in (1, 2):
            batch = prompt_batch(PROBLEMS, step, settings)
            for stage in stages:
                batch = stage(batch)
    return record


@pytest.fixture(scope="module")
def source() -> str:
    return sum(map(traced, CONFIGURATIONS), Trace()).source("drafted")


@pytest.fixture(scope="module")
def drafted(source: str) -> types.ModuleType:
    return run(source)


def test_the_draft_passes_its_check(drafted: types.ModuleType) -> None:
    assert str(drafted.drafted.check()) == ("pipeline 'drafted': 8 stages, 16 fields, 2 configurations, no problems")


def test_each_record_differs_in_explained_ways_alone(drafted: types.ModuleType) -> None:
    stages = [value for value in vars(grpo).values() if isinstance(value, type) and issubclass(value, StageSchema)]
    hand = {stage.__batchpact__.name: stage.__batchpact__ for stage in stages if stage is not StageSchema}
    planned = {stage.name: stage.model_copy(update={"when": None}) for stage in drafted.drafted.spec.stages}

    assert set(hand) == set(planned)
    assert {name: found for name in hand if (found := differences(hand[name], planned[name]))} == EXPLAINED
    assert list(schema_differences(grpo.PromptBatch.__batchpact__.spec, drafted.drafted.spec.inputs)) == []


def test_the_order_is_that_of_the_example_under_conditions(drafted: types.ModuleType) -> None:
    names = [stage.name for stage in drafted.drafted.spec.stages]
    conditions = {stage.name: stage.when for stage in drafted.drafted.spec.stages}

    for settings in CONFIGURATIONS:
        example = grpo_pipeline(Policy(settings)).spec
        assert [name for name in names if name in {stage.name for stage in example.stages}] == [
            stage.name for stage in example.stages
        ]
        assert set(drafted.drafted.spec.outputs) == set(example.outputs)
    assert {name: when for name, when in conditions.items() if when is not None}.keys() == {
        name for name, when in PLANNED.items() if when
    }


@pytest.mark.parametrize("settings", CONFIGURATIONS)
def test_one_run_alone_gives_a_draft_that_passes(settings: Settings) -> None:
    pipeline: Pipeline = run(traced(settings).source()).traced

    assert pipeline.check().findings == ()
    assert [stage.when for stage in pipeline.spec.stages if stage.when] == []


def test_formatters_leave_the_source_as_it_is(source: str) -> None:
    assert formatted(source) == source


def test_a_trace_changes_nothing() -> None:
    def run_once(watched: bool) -> DataProto:
        stages = undecorated_stages(Policy(SMALL))
        batch = prompt_batch(PROBLEMS, 1, SMALL)
        if not watched:
            for stage in stages:
                batch = stage(batch)
            return batch
        with trace(undecorated):
            for stage in stages:
                batch = stage(batch)
        return batch

    watched = run_once(True)

    assert watched == run_once(False)
    assert type(watched.meta_info) is dict and type(watched.non_tensor_batch) is dict
    assert type(watched.batch).__name__ == "TensorDict"
    assert not hasattr(watched, "_handed") or watched._handed is None
