"""verl's own functions of tensors under `@stage(..., unpack=True)`, unchanged: its estimators, a KL, a policy loss."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

pytestmark = pytest.mark.peers
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")
protocol = pytest.importorskip("verl.protocol")

from batchpact.contracts import contract_of, stage, use_config
from batchpact.contracts.lint.linter import lint
from batchpact.dataproto import DataProto, column
from batchpact.schemas import Arg, BatchSchema, From, Meta, NonTensor, StageSchema, When, config
from tests.contracts.stages import refusal

ROWS, PROMPT, RESPONSE = 4, 2, 3
PerToken = Float32[Tensor, "batch response"]
Tokens = Int64[Tensor, "batch response"]


class Advantages(BatchSchema):
    advantages: PerToken
    returns: PerToken


class Outcome(BatchSchema):
    token_level_rewards: PerToken
    response_mask: PerToken


class Gae(StageSchema):
    class Reads(Outcome):
        values: PerToken
        gamma: Annotated[Arg[float], From("algorithm.gamma")]
        lam: Annotated[Arg[float], From("algorithm.lam")]

    Writes = Advantages


class Grouped(StageSchema):
    class Reads(Outcome):
        uid: NonTensor[str]

    Writes = Advantages


class Normed(StageSchema):
    class Reads(Outcome):
        uid: NonTensor[str]
        norm: Annotated[Arg[bool], From("algorithm.norm_adv_by_std_in_grpo")] = True

    Writes = Advantages


class Discounted(StageSchema):
    class Reads(Outcome):
        config: Arg[object]

    Writes = Advantages


class Remax(StageSchema):
    class Reads(Outcome):
        reward_baselines: Float32[Tensor, "batch"]

    Writes = Advantages


class Otb(StageSchema):
    class Reads(Outcome):
        uid: NonTensor[str]
        old_log_probs: PerToken
        sum_pi_squared: PerToken
        rollout_is_weights: Annotated[PerToken, When(config("algorithm.rollout_is"))]

    Writes = Advantages


class Gdpo(StageSchema):
    class Reads(Outcome, extra="allow"):
        uid: NonTensor[str]
        prompts: Int64[Tensor, "batch prompt"]
        attention_mask: Int64[Tensor, "batch prompt+response"]
        config: Arg[object]

    Writes = Advantages


INDEX = {"index": "uid"}
NORM = {**INDEX, "norm_adv_by_std_in_grpo": "norm"}
ESTIMATORS: dict[str, tuple[type[StageSchema], dict[str, str]]] = {
    "gae": (Gae, {}),
    "grpo": (Normed, NORM),
    "grpo_vectorized": (Normed, NORM),
    "gdpo": (Gdpo, INDEX),
    "grpo_passk": (Normed, NORM),
    "reinforce_plus_plus_baseline": (Grouped, INDEX),
    "rloo": (Grouped, INDEX),
    "opo": (Grouped, INDEX),
    "reinforce_plus_plus": (Discounted, {}),
    "remax": (Remax, {}),
    "gpg": (Grouped, INDEX),
    "rloo_vectorized": (Grouped, INDEX),
    "optimal_token_baseline": (Otb, INDEX),
    "tir_optimal_token_baseline": (Otb, INDEX),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


class Config(dict[str, Any]):
    """As much of verl's algorithm configuration as the estimators ask for."""

    gamma = 0.9


CONFIG = Config(gdpo_reward_keys=["format", "accuracy"], num_repeat=2)


def tensors() -> dict[str, Tensor]:
    torch.manual_seed(0)
    mask = torch.tensor([[1.0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]])
    per_token = {key: torch.randn(ROWS, RESPONSE) * mask for key in ("token_level_rewards", "values", "old_log_probs")}
    return {
        **per_token,
        "response_mask": mask,
        "sum_pi_squared": torch.rand(ROWS, RESPONSE),
        "rollout_is_weights": torch.rand(ROWS, RESPONSE),
        "reward_baselines": torch.rand(ROWS),
        "prompts": torch.ones(ROWS, PROMPT, dtype=torch.int64),
        "attention_mask": torch.cat([torch.ones(ROWS, PROMPT), mask], dim=1).long(),
    }


COLUMNS = {"uid": ["a", "a", "b", "b"], "format": [1.0, 0.0, 1.0, 1.0], "accuracy": [0.0, 1.0, 0.0, 1.0]}


def batches() -> dict[str, Any]:
    columns = {key: column(cells) for key, cells in COLUMNS.items()}
    return {
        "ours": DataProto.from_dict(tensors(), COLUMNS, {}),
        "verl": protocol.DataProto.from_dict(tensors=tensors(), non_tensors=columns),
    }


def arguments(name: str, function: Any, batch: Any) -> dict[str, Any]:
    """What verl's `compute_advantage` gives an estimator: these, and what else the parameters name."""
    named = set(function.__code__.co_varnames[: function.__code__.co_argcount])
    known = {
        **batch.batch,
        "index": batch.non_tensor_batch["uid"],
        "config": CONFIG,
        "gamma": 0.9,
        "lam": 0.95,
        "batch": batch.batch,
        "non_tensor_batch": batch.non_tensor_batch,
    }
    return {key: value for key, value in known.items() if key in named}


@pytest.fixture(params=ESTIMATORS)
def estimator(request: pytest.FixtureRequest) -> tuple[str, Any, Any]:
    """Each estimator: its name, the function, and the function as a stage."""
    schema, names = ESTIMATORS[request.param]
    function = core_algos.get_adv_estimator_fn(request.param)
    return request.param, function, stage(schema, unpack=True, names=names, name=request.param)(function)


def test_every_estimator_of_verl_is_here() -> None:
    assert set(ESTIMATORS) == set(core_algos.ADV_ESTIMATOR_REGISTRY)


@pytest.mark.parametrize("kind", ["ours", "verl"])
def test_an_estimator_computes_on_a_batch_what_it_computes_in_verl(estimator: Any, kind: str) -> None:
    name, function, staged = estimator
    batch = batches()[kind]
    advantages, returns = function(**arguments(name, function, batch))
    configuration = {"algorithm": {"gamma": 0.9, "lam": 0.95, "rollout_is": True, "norm_adv_by_std_in_grpo": True}}
    given = {"config": CONFIG} if "config" in arguments(name, function, batch) else {}

    with use_config(configuration):
        result = staged(batch, **given)

    assert type(result) is type(batch)
    assert torch.equal(result.batch["advantages"], advantages)
    assert torch.equal(result.batch["returns"], returns)


def test_verl_itself_can_call_it(estimator: Any) -> None:
    name, function, staged = estimator
    given = arguments(name, function, batches()["verl"])

    found = staged(**given)

    assert type(found) is tuple
    assert all(map(torch.equal, found, function(**given)))


def test_verl_computes_advantages_under_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    ray_trainer = pytest.importorskip("verl.trainer.ppo.ray_trainer")
    gae = stage(Gae, unpack=True)(core_algos.compute_gae_advantage_return)
    monkeypatch.setattr(core_algos, "compute_gae_advantage_return", gae)
    batch = batches()["verl"]
    batch.batch["values"] = batch.batch["values"][:, :2]

    assert 'BP012 shape  values  f32[4, 2], declared "batch response"' in refusal(
        lambda: ray_trainer.compute_advantage(batch, core_algos.AdvantageEstimator.GAE, gamma=0.9, lam=0.95)
    )


def test_the_linter_raises_no_false_alarm(estimator: Any) -> None:
    _, _, staged = estimator
    contract = contract_of(staged)
    assert contract is not None

    found = [(finding.code, finding.field) for finding in lint([contract]).report.findings]

    assert found == []


class KlPenalty(StageSchema):
    graph = "allow"

    class Reads(BatchSchema):
        log_probs: PerToken
        ref_log_prob: PerToken
        kind: Annotated[Arg[str], From("algorithm.kl_penalty")] = "kl"

    class Writes(BatchSchema):
        kl: PerToken


def test_a_single_tensor_is_a_result() -> None:
    names = {"logprob": "log_probs", "ref_logprob": "ref_log_prob", "kl_penalty": "kind"}
    kl = stage(KlPenalty, unpack=True, names=names)(core_algos.kl_penalty)
    held = {"log_probs": torch.randn(2, 3), "ref_log_prob": torch.randn(2, 3)}

    result = kl(DataProto.from_dict(held), kind="low_var_kl")

    assert torch.equal(result.batch["kl"], core_algos.kl_penalty(*held.values(), "low_var_kl"))


class PolicyLoss(StageSchema):
    graph = "allow"

    class Reads(BatchSchema):
        old_log_probs: PerToken
        log_probs: PerToken
        advantages: PerToken
        response_mask: PerToken
        cliprange: Annotated[Arg[float], From("actor.clip_ratio")] = 0.2

    class Writes(BatchSchema):
        pg_loss: Meta[object]
        pg_clipfrac: Meta[object]
        ppo_kl: Meta[object]
        pg_clipfrac_lower: Meta[object]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_loss_is_meta_and_a_deprecated_function_still_says_its_parameters() -> None:
    names = {"old_log_prob": "old_log_probs", "log_prob": "log_probs"}
    loss = stage(PolicyLoss, unpack=True, names=names)(core_algos.compute_policy_loss)
    held = {key: torch.randn(2, 3) for key in ("old_log_probs", "log_probs", "advantages")}
    held["response_mask"] = torch.ones(2, 3)

    result = loss(DataProto.from_dict(held))

    expected = core_algos.compute_policy_loss(*held.values(), cliprange=0.2)
    assert list(result.meta_info) == ["pg_loss", "pg_clipfrac", "ppo_kl", "pg_clipfrac_lower"]
    assert all(map(torch.equal, result.meta_info.values(), expected))
