"""verl's own estimators, called by verl's own loop: the contracts of the vocabulary come back."""

from __future__ import annotations

import types

import pytest
import torch

pytestmark = pytest.mark.peers
pytest.importorskip("verl")

from omegaconf import OmegaConf
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.ray_trainer import apply_kl_penalty, compute_advantage, compute_response_mask

from batchpact.contracts import trace
from batchpact.contracts.tracing.trace import Trace
from batchpact.schemas.condition_specs import words
from batchpact.schemas.record import StageSpec
from batchpact.schemas.rl.dense.advantages import ESTIMATORS
from tests.contracts.inferring.drafts import run
from tests.contracts.tracing.records import differences
from tests.findings.test_functions import sampled

# What a draft says otherwise than the vocabulary, and why.
NOT_NEEDED = "reads uid: added"  # compute_advantage hands uid to every estimator, also to those that do not look at it
WITHOUT_DEFAULT = ["required", "default"]  # the function has no default, and verl's configuration has one
UNTRIED = "when"  # the condition is about rollout correction, which no run switched
EXPLAINED = {
    "gae": [f"reads {name}: {part}" for name in ("gamma", "lam") for part in WITHOUT_DEFAULT],
    "reinforce_plus_plus": ["reads gamma: argument left out", NOT_NEEDED],  # gamma stands in a config that is handed on
    "remax": [NOT_NEEDED],
    "optimal_token_baseline": [f"reads rollout_is_weights: {UNTRIED}"],
    "tir_optimal_token_baseline": [f"reads rollout_is_weights: {UNTRIED}"],
    "gdpo": [
        "reads gdpo_reward_keys: argument left out",  # it stands in a config that is handed on, as do the weights
        "reads gdpo_reward_weights: argument left out",
        "reads parts[*]: left out",  # the columns with the parts of a reward: looks at a plain dict are not seen
    ],
}


def traced(name: str) -> Trace:
    """One step of one estimator."""
    keys = {"adv_estimator": name, "gamma": 0.99, "lam": 0.95, "norm_adv_by_std_in_grpo": True, "use_pf_ppo": False}
    config = OmegaConf.create({"algorithm": {**keys, "gdpo_reward_keys": ["format_reward"]}})
    data = sampled(0, **({"reward_baselines": torch.zeros(8)} if name == "remax" else {}))
    data.pop(["advantages", "returns"])
    with trace(core_algos, config=config) as record:
        compute_advantage(data, name, gamma=0.99, lam=0.95, config=config.algorithm)
    return record


@pytest.fixture(scope="module")
def drafted() -> types.ModuleType:
    return run(sum(map(traced, ESTIMATORS), Trace()).source("estimators"))


def spec_of(drafted: types.ModuleType, name: str) -> StageSpec:
    """The stage that is drafted for an estimator."""
    stages = drafted.estimators.spec.stages
    return next(stage for stage in stages if stage.when is not None and stage.when.value == name)


def test_the_draft_passes_its_check(drafted: types.ModuleType) -> None:
    assert drafted.estimators.check().findings == ()
    assert len(drafted.estimators.spec.stages) == len(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_record_differs_in_explained_ways_alone(drafted: types.ModuleType, name: str) -> None:
    found = spec_of(drafted, name).model_copy(update={"when": None})

    assert differences(ESTIMATORS[name].__batchpact__, found) == EXPLAINED.get(name, [])


def trained(name: str) -> Trace:
    """What the older trainer's driver does with a batch after its rollout, with verl's own DataProto."""
    keys = {"adv_estimator": name, "use_pf_ppo": False}
    config = OmegaConf.create({"algorithm": keys})
    data = sampled(0)
    data.pop(["advantages", "returns", "token_level_rewards", "response_mask", *(["values"] if name == "grpo" else [])])
    with trace(apply_kl_penalty, compute_advantage, compute_response_mask, config=config) as record:
        data.batch["response_mask"] = compute_response_mask(data)
        data, _ = apply_kl_penalty(data, core_algos.FixedKLController(0.01))
        compute_advantage(data, name, config=config.algorithm)
    assert type(data.meta_info) is dict and type(data.batch).__name__ == "TensorDict"
    return record


def test_the_functions_of_its_older_trainer() -> None:
    traced = run((trained("gae") + trained("grpo")).source()).traced
    reads = {
        stage.name: [(field.key, "" if field.when is None else words(field.when)) for field in stage.reads.fields]
        for stage in traced.spec.stages
    }

    assert traced.check().findings == ()
    assert reads == {
        "compute_response_mask": [("responses", ""), ("attention_mask", "")],
        "apply_kl_penalty": [
            ("response_mask", ""),
            ("token_level_scores", ""),
            ("old_log_probs", ""),
            ("ref_log_prob", ""),
        ],
        "compute_advantage": [
            ("response_mask", ""),
            ("token_level_rewards", ""),
            ("values", "algorithm.adv_estimator == 'gae'"),
            ("uid", "algorithm.adv_estimator == 'grpo'"),
        ],
    }
    assert [[field.key for field in stage.writes.fields] for stage in traced.spec.stages] == [
        ["response_mask"],
        ["token_level_rewards"],
        ["advantages", "returns"],
    ]
