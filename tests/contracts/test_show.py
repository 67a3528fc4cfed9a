"""A stage or a field in words: what it reads and writes, of whom and for whom, and under which condition."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from batchpact.contracts.cli import app
from batchpact.contracts.show import show
from batchpact.schemas import SettingError
from tests.contracts.proof.ppo import ppo


def test_a_stage_with_its_sources_its_readers_and_its_conditions() -> None:
    assert show([ppo()], "advantage").splitlines() == [
        "stage 'advantage' of pipeline 'ppo'  (tests.contracts.proof.ppo.Advantage)",
        "  rows    same",
        "  reads",
        "    token_level_rewards  f32 \"batch response\"; written by 'rewards'",
        "    response_mask        i64 \"batch response\"; written by 'generate'",
        "    values               f32 \"batch response\"; where use_critic (algorithm.adv_estimator == 'gae'); "
        "written by 'values'",
        "    uid                  non-tensor str; where algorithm.adv_estimator == 'grpo'; written by the inputs",
        "  writes",
        "    advantages  f32 \"batch response\"; read by 'update_actor'",
        "    returns     f32 \"batch response\"; where use_critic (algorithm.adv_estimator == 'gae'); "
        "read by 'update_critic'",
    ]


def test_a_field_with_all_who_have_to_do_with_it() -> None:
    assert show([ppo()], "ref_log_prob").splitlines()[-3:] == [
        "  writes  'ref_log_prob'  f32 \"batch response\"; where use_reference (algorithm.use_kl_in_reward or "
        "actor.use_kl_loss); read by 'rewards' and 'update_actor'",
        "  reads   'rewards'  f32 \"batch response\"; where algorithm.use_kl_in_reward; written by 'ref_log_prob'",
        "  reads   'update_actor'  f32 \"batch response\"; where actor.use_kl_loss; where not meta validate; "
        "written by 'ref_log_prob'",
    ]
    assert show([ppo()], "uid").splitlines() == [
        "field 'uid' of pipeline 'ppo'",
        "  inputs  non-tensor str; read by 'advantage'",
        "  reads   'advantage'  non-tensor str; where algorithm.adv_estimator == 'grpo'; written by the inputs",
    ]


def test_one_configuration_shows_what_is_on() -> None:
    config = {"algorithm": {"adv_estimator": "gae"}}

    assert show([ppo()], "ref_log_prob", config).splitlines() == [
        "stage 'ref_log_prob' of pipeline 'ppo'  (tests.contracts.proof.ppo.RefLogProb)",
        "  runs    not in this configuration",
        "  rows    same",
        "  reads",
        '    responses  i64 "batch response"; off in this configuration',
        "  writes",
        '    ref_log_prob  f32 "batch response"; nobody reads it',
        "field 'ref_log_prob' of pipeline 'ppo'",
        "  reads   'rewards'  f32 \"batch response\"; where algorithm.use_kl_in_reward; off in this configuration",
        "  reads   'update_actor'  f32 \"batch response\"; where actor.use_kl_loss; where not meta validate; "
        "off in this configuration",
    ]
    assert show([ppo()], "values", config).splitlines()[1] == "  runs    yes"


def test_a_name_that_is_not_there_has_a_closest_one() -> None:
    with pytest.raises(SettingError) as caught:
        show([ppo()], "ref_logprob")

    assert str(caught.value) == (
        "1 problem in the name to show\n\n"
        "  BP052 setting  name  no stage and no field 'ref_logprob' in 'ppo'; closest name: 'ref_log_prob'"
    )


# --- the command ------------------------------------------------------------------------------------------------------

PLAN = "tests/contracts/proof/ppo_plan.py:plan"


def command(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_the_command_shows_a_stage_of_a_target(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"algorithm": {"adv_estimator": "gae"}}')

    assert command("show", "advantage", PLAN) == (0, show([ppo()], "advantage") + "\n")
    assert command("show", "values", PLAN, "--config", str(config))[1].splitlines()[1] == "  runs    yes"
    assert command("show", "value", PLAN)[0] == 2
    assert "closest name: 'values'" in command("show", "value", PLAN)[1]
    assert command("show", "values", PLAN, "--config", "gone.yaml")[0] == 2


def test_check_of_one_configuration_shows_its_stages(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("algorithm:\n  adv_estimator: grpo\n")

    assert command("check", PLAN) == (0, "pipeline 'ppo': 10 stages, 15 fields, 48 configurations, no problems\n")
    code, output = command("check", PLAN, "--config", str(config))
    assert code == 0
    assert output.splitlines() == [
        "pipeline 'ppo': 10 stages, 15 fields, no problems",
        "  on    generate",
        "  off   reward_model  where reward_model.enable",
        "  on    score",
        "  on    old_log_prob",
        "  off   ref_log_prob  where use_reference (algorithm.use_kl_in_reward or actor.use_kl_loss)",
        "  off   values  where use_critic (algorithm.adv_estimator == 'gae')",
        "  on    rewards",
        "  on    advantage",
        "  off   update_critic  where use_critic (algorithm.adv_estimator == 'gae')",
        "  open  update_actor  where not meta validate",
    ]
