"""PPO and GRPO as verl's trainers run them: what the proof finds in them are the trainers' own faults."""

from __future__ import annotations

from functools import partial

import pytest

import batchpact.contracts.rl as pipelines
from batchpact.contracts import Pipeline
from batchpact.contracts.configuration import of_config
from batchpact.contracts.proof.flow import Flow, check_flow
from batchpact.schemas import Violation
from batchpact.schemas.condition_specs import SubjectSpec, holds

ALL: dict[str, Pipeline] = {name: getattr(pipelines, name) for name in pipelines.__all__}
HEALTHY = ("grpo", "queue_validation", "validation")


def found(pipeline: Pipeline) -> list[tuple[str, str, str]]:
    """The errors: code, stage and field, and the smallest configuration that has it."""
    return [short(finding) for finding in pipeline.check().findings if finding.severity == "error"]


def short(finding: Violation) -> tuple[str, str, str]:
    configuration = finding.hint.rpartition("with ")[2].replace("meta validate=False, ", "")
    return finding.code, f"{finding.where.stage}: {finding.field}", configuration


@pytest.mark.parametrize("name", HEALTHY)
def test_a_pipeline_without_a_fault_passes_in_every_configuration(name: str) -> None:
    assert ALL[name].check().findings == ()


@pytest.mark.slow
def test_the_faults_of_the_older_trainer_with_every_estimator() -> None:
    """It dies where an estimator needs what was switched off: minutes after the start, on a KeyError."""
    assert found(pipelines.ppo) == [
        ("BP001", "gae: values", "algorithm.adv_estimator='gae', critic.enable=False"),
        (
            "BP001",
            "optimal_token_baseline: sum_pi_squared",
            "algorithm.adv_estimator='optimal_token_baseline', algorithm.rollout_correction.bypass_mode=True",
        ),
    ]


def test_the_estimators_that_the_newer_trainer_does_not_feed() -> None:
    """Seven columns are fetched; PF-PPO's rows, drawn anew, are put back under the keys of the rows that were there."""
    assert found(pipelines.queue_advantage) == [
        ("BP001", "gae: values", "algorithm.adv_estimator='gae', critic.enable=False"),
        ("BP001", "gdpo: prompts", "algorithm.adv_estimator='gdpo'"),
        ("BP001", "gdpo: attention_mask", "algorithm.adv_estimator='gdpo'"),
        (
            "BP001",
            "gdpo: columns named by configuration algorithm.gdpo_reward_keys",
            "algorithm.adv_estimator='gdpo'",
        ),
        ("BP001", "remax: reward_baselines", "algorithm.adv_estimator='remax'"),
        ("BP001", "optimal_token_baseline: sum_pi_squared", "algorithm.adv_estimator='optimal_token_baseline'"),
        ("BP023", "put_advantages: batch_keys", "algorithm.adv_estimator='gae', algorithm.use_pf_ppo=True"),
    ]


def test_a_colocated_reward_model_that_a_function_asks_gets_three_columns() -> None:
    """A generative reward model needs such a function, and the function the right answer."""
    assert found(pipelines.queue_reward) == [
        ("BP001", "score_by_function: data_source", "reward.custom_reward_function.path set"),
        ("BP001", "score_by_function: reward_model", "reward.custom_reward_function.path set"),
    ]


@pytest.mark.parametrize(("name", "estimator"), [("queue_grpo", "algorithm.adv_estimator='grpo', "), ("queue_ppo", "")])
def test_the_faults_of_the_newer_trainer_s_step(name: str, estimator: str) -> None:
    """The mask that rejection sampling rewrites has a twin; bypass mode takes log-probs that nobody asked for."""
    assert found(ALL[name]) == [
        (
            "BP001",
            "use_rollout_log_probs: rollout_log_probs",
            "algorithm.rollout_correction.bypass_mode=True, actor_rollout_ref.rollout.calculate_log_probs=False",
        ),
        (
            "BP063",
            "compute_advantage: response_mask",
            f"algorithm.rollout_correction.bypass_mode=False, {estimator}"
            "actor_rollout_ref.rollout.calculate_log_probs=True, algorithm.rollout_correction set",
        ),
    ]


def warned(name: str) -> list[Violation]:
    return [finding for finding in ALL[name].check().findings if finding.severity == "warning"]


@pytest.mark.parametrize("name", ["queue_grpo", "queue_ppo"])
def test_a_warning_follows_from_a_fault(name: str) -> None:
    """Where the rollout has no log-probs, nobody knows how long those are that are taken from it."""
    follow = [finding for finding in warned(name) if finding.code == "BP012"]

    assert {finding.field for finding in follow} == {"old_log_probs"}
    assert all("use_rollout_log_probs.response" in finding.hint for finding in follow)


def test_what_was_meant_for_the_reference_reaches_the_critic() -> None:
    """Where both have an adapter; without a critic there is no later call that asks for it."""
    (finding,) = (finding for finding in warned("queue_ppo") if finding.code != "BP012")

    assert short(finding) == (
        "BP003",
        "infer_critic: no_lora_adapter",
        "actor_rollout_ref.actor.use_kl_loss=True, actor_rollout_ref.model.lora_adapter_path set, critic.enable=True",
    )
    assert {finding.code for finding in warned("queue_grpo")} == {"BP012"}


@pytest.mark.parametrize(
    ("model", "taken"),
    [
        ({}, "compute_ref_log_prob"),
        ({"lora_rank": 8}, "compute_ref_log_prob_in_actor"),
        ({"lora": {"rank": 8}}, "compute_ref_log_prob_in_actor"),
        ({"lora_adapter_path": "here"}, "compute_ref_log_prob_in_actor"),
        ({"lora_rank": 0, "lora": {"rank": 0}, "lora_adapter_path": None}, "compute_ref_log_prob"),
    ],
)
def test_with_lora_the_actor_is_the_reference(model: dict[str, object], taken: str) -> None:
    configuration = {
        "algorithm": {"adv_estimator": "grpo"},
        "actor_rollout_ref": {"actor": {"use_kl_loss": True}, "model": model},
    }
    flow = Flow(pipelines.grpo.spec, [], partial(of_config, configuration))

    on = [stage.name for stage, points in zip(flow.stages, flow.live, strict=True) if points]
    assert [name for name in on if "ref_log_prob" in name] == [taken]


@pytest.mark.parametrize(("warmup", "now", "updated"), [(0, 1, True), (5, 4, False), (5, 5, True), (None, 1, False)])
def test_the_actor_is_updated_once_the_critic_is_warm(warmup: int | None, now: int, updated: bool) -> None:
    """`trainer.critic_warmup` is 0 in the configuration that verl ships; None would be no number for verl, either."""
    (last,) = [stage for stage in pipelines.grpo.spec.stages if stage.name == "update_actor_on_groups"]
    assert last.when is not None
    values = {"validate": False, "trainer.critic_warmup": warmup, "global_steps": now}

    assert holds(last.when, lambda subject: values.get(subject.name, subject.default)) is updated


@pytest.mark.parametrize("name", ["ppo", "grpo", "queue_ppo", "queue_grpo"])
def test_a_usual_configuration_is_healthy(name: str) -> None:
    usual = {
        "algorithm": {
            "adv_estimator": "gae" if "ppo" in name else "grpo",
            "use_kl_in_reward": True,
            "rollout_correction": None,
        },
        "actor_rollout_ref": {"actor": {"use_kl_loss": True}, "rollout": {"n": 4, "calculate_log_probs": True}},
    }

    assert ALL[name].check(usual).findings == ()


@pytest.mark.parametrize("left_out", ["compute_values", "compute_ref_log_prob", "extract_reward", "score_by_function"])
def test_a_stage_that_is_missing_is_missed(left_out: str) -> None:
    """The proof is not healthy because it does not look."""
    stages = pipelines.ppo.spec.stages
    kept = tuple(stage for stage in stages if stage.name != left_out)
    assert len(kept) < len(stages), "it is there"
    usual = {
        "algorithm.adv_estimator": "gae",
        "algorithm.use_kl_in_reward": True,
        "actor_rollout_ref.rollout.calculate_log_probs": True,
        "validate": False,
    }

    def look_up(subject: SubjectSpec) -> object:
        return usual.get(subject.name, subject.default)

    assert check_flow(pipelines.ppo.spec, [], look_up) == []
    assert check_flow(pipelines.ppo.spec.model_copy(update={"stages": kept}), [], look_up) != []


def test_no_pipeline_can_be_run() -> None:
    """They are plans of somebody else's trainer."""
    assert all(isinstance(planned.stage, type) for planned in pipelines.grpo.planned if planned.stage is not None)
