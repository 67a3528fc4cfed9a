"""The example: its pipeline is healthy, learns, and is caught when it is broken."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from batchpact.contracts import Figures, checking
from batchpact.dataproto import DataProto
from batchpact.schemas.equality import equal
from grpo_arithmetic.__main__ import accuracies
from grpo_arithmetic.data import prompt_batch, prompt_batches
from grpo_arithmetic.faults import PROBLEMS
from grpo_arithmetic.pipeline import grpo_pipeline, grpo_stages, plan
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.problems import split_problems
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.warmup import warm_up
from grpo_arithmetic.workers import Backend, team
from tests.ray_sessions import own_session

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "grpo_arithmetic"
SMALL = Settings(responses_per_prompt=2, grpo_steps=2, prompts_per_step=3)


@pytest.mark.parametrize("use_kl_in_reward", [False, True])
@pytest.mark.parametrize("use_kl_loss", [False, True])
def test_every_configuration_is_healthy_and_runs_at_level_values(use_kl_in_reward: bool, use_kl_loss: bool) -> None:
    settings = replace(SMALL, use_kl_in_reward=use_kl_in_reward, use_kl_loss=use_kl_loss)
    pipeline = grpo_pipeline(Policy(settings))
    assert pipeline.check().findings == ()

    with checking("values"):
        done = pipeline.run(prompt_batch(PROBLEMS, 1, settings), settings.config())

    assert len(done) == 6
    assert done.batch is not None
    assert ("ref_log_prob" in done.batch.keys()) is (use_kl_in_reward or use_kl_loss)
    assert ("actor/kl_loss" in done.meta_info["metrics"]) is use_kl_loss
    assert list(done.non_tensor_batch["uid"]) == ["1-0", "1-0", "1-1", "1-1", "1-2", "1-2"]


def test_a_run_leaves_its_input_as_it_is() -> None:
    batch = prompt_batch(PROBLEMS, 1, SMALL)
    before = batch[:]

    grpo_pipeline(Policy(SMALL)).run(batch, SMALL.config())

    assert batch == before


def test_levels_give_bit_equal_runs() -> None:
    results = []
    for level in ("off", "structure", "values"):
        with checking(level):
            results.append(grpo_pipeline(Policy(SMALL)).run(prompt_batch(PROBLEMS, 1, SMALL), SMALL.config()))

    assert results[0] == results[1] == results[2]


@pytest.mark.slow
def test_grpo_raises_held_out_accuracy() -> None:
    settings = Settings(warmup_steps=400, grpo_steps=25, held_out=200)
    torch.set_num_threads(settings.threads)
    training, held_out = split_problems(settings.largest_operand, settings.held_out, settings.seed)
    policy = Policy(settings)
    warm_up(policy.model, training, settings)
    _, before = accuracies(policy, held_out)
    pipeline, figures = grpo_pipeline(policy), Figures()

    for batch in prompt_batches(training, settings):
        pipeline.run(batch, settings.config(), figures=figures)

    _, after = accuracies(policy, held_out)
    assert after > before + 0.1
    assert [name for name, _ in figures] == [stage.name for stage in pipeline.spec.stages]
    assert {stage.calls for _, stage in figures} == {25}


def on_workers(backend: Backend) -> tuple[DataProto, dict[str, torch.Tensor]]:
    """The batch of the last step, and the weights after it; the rows do not divide evenly."""
    settings = replace(
        SMALL, responses_per_prompt=3, prompts_per_step=5, use_kl_in_reward=True, largest_operand=4, warmup_steps=30
    )
    policy = Policy(settings)
    training, _ = split_problems(settings.largest_operand, 5, settings.seed)
    warm_up(policy.model, training, settings)
    before = copy.deepcopy(policy.model.state_dict())
    with team(policy, backend) as groups:
        for batch in prompt_batches(training, settings):
            done = grpo_pipeline(policy).run(batch, settings.config(), workers=groups.stages)
            groups.keep_up()
        weights = groups.weights()
    assert len(done) == 15
    assert equal(policy.model.state_dict(), before), "the policy that the workers start with is left alone"
    assert not equal(weights, before), "and they train one of their own"
    return done, weights


@pytest.mark.ray
@pytest.mark.slow
def test_every_stage_gives_the_same_on_local_workers_and_on_actors() -> None:
    with own_session(num_cpus=2):
        actors, weights = on_workers("ray")

    local, expected = on_workers("local")
    assert actors == local
    assert equal(weights, expected)


def batchpact(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own: it knows the stages of its target and no others."""
    code = "from batchpact.contracts.cli import main; main()"
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=path, capture_output=True, text=True, check=False
    )


def test_check_passes_on_the_example() -> None:
    run = batchpact("check", f"{EXAMPLE / 'pipeline.py'}:plan")

    assert run.stdout == "pipeline 'grpo_arithmetic': 7 stages, 19 fields, no problems\n"
    assert run.returncode == 0


@pytest.mark.parametrize(
    ("without", "findings"),
    [
        (
            "compute_old_log_prob",
            [
                'update_actor: old_log_probs  declared f32 "batch response"; nothing before writes it; '
                "'compute_old_log_prob' (grpo_arithmetic.stages.log_probs.ActorWorker.compute_old_log_prob) would, "
                "and is not in the pipeline"
            ],
        ),
        (
            "use_scores",
            [
                'compute_advantage: token_level_rewards  declared f32 "batch response"; nothing before writes it; '
                "'kl_in_reward' (grpo_arithmetic.stages.advantage.kl_in_reward) and "
                "'use_scores' (grpo_arithmetic.stages.advantage.use_scores) would, and are not in the pipeline"
            ],
        ),
    ],
)
def test_check_fails_with_a_stage_taken_out(tmp_path: Path, without: str, findings: list[str]) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from batchpact.contracts import Pipeline\n"
        "from batchpact.schemas.rl.grpo import PromptBatch\n"
        "from grpo_arithmetic.pipeline import grpo_stages\n"
        "from grpo_arithmetic.policy import Policy\n"
        "from grpo_arithmetic.settings import Settings\n"
        f"stages = [each for each in grpo_stages(Policy(Settings())) if each.__name__ != {without!r}]\n"
        "plan = Pipeline('broken', inputs=PromptBatch, stages=stages, outputs=('metrics',))\n"
    )

    run = batchpact("check", f"{broken}:plan")

    lines = [f"  BP001 missing  {finding}" for finding in findings]
    assert run.stdout.splitlines() == ["1 problem in pipeline 'broken' (6 stages, 19 fields)", "", *lines]
    assert run.returncode == 1


def test_the_gallery_names_every_fault() -> None:
    code = (
        "from grpo_arithmetic.faults import *; print(*(answer for _, answer in gallery(Settings())), sep='\\n---\\n')"
    )
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    run = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True)

    assert run.stdout.rstrip("\n").split("\n---\n") == [
        "ContractError: 1 problem where stage 'generate' reads its batch\n\n"
        "  BP003 place  temperature  3 objects in non_tensor_batch; declared meta, one for the batch",
        "ContractError: 2 problems where stage 'compute_advantage' returns its result\n\n"
        '  BP012 shape  advantages  f32[3, 4], declared "batch response"; batch=6 in what the stage read\n'
        '  BP012 shape  returns     f32[3, 4], declared "batch response"; batch=6 in what the stage read\n\n'
        "  dims  response=4 (advantages, returns)  batch=3 (advantages, returns)",
        "MissingFieldError: 1 problem in pipeline 'grpo_arithmetic', which was not started\n\n"
        '  BP001 missing  update_actor: old_log_probs  declared f32 "batch response"; nothing before writes it; '
        "'compute_old_log_prob' (grpo_arithmetic.stages.log_probs.ActorWorker.compute_old_log_prob) would, "
        "and is not in the pipeline",
        "UndeclaredReadError: 1 problem in stage 'compute_advantage', which looked for a field it does not declare\n\n"
        "  BP002 withheld  ground_truth  the caller's batch holds 6 objects in non_tensor_batch; "
        "the Reads of 'compute_advantage' do not declare it; add ground_truth to them",
    ]


def test_the_plan_of_the_module_is_the_pipeline_of_the_default_settings() -> None:
    assert [stage.name for stage in plan.spec.stages] == [each.__name__ for each in grpo_stages(Policy(Settings()))]
