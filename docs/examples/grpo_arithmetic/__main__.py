"""The demo: warm-up, check, GRPO under contract, what it cost, and a gallery of faults. Every number is measured."""

import argparse
import time
from collections.abc import Sequence
from contextlib import nullcontext

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule

from batchpact.contracts import Figures, Pipeline
from grpo_arithmetic.data import prompt_batches
from grpo_arithmetic.faults import gallery
from grpo_arithmetic.pipeline import grpo_pipeline
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.problems import Problem, split_problems
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.stages.evaluate import held_out_accuracy
from grpo_arithmetic.warmup import warm_up
from grpo_arithmetic.workers import Backend, Team, team

REPORT_EVERY = 25


def main(backend: Backend | None = None) -> None:
    """Run the demo.

    Args:
        backend: whose workers run the stages that need a model; none where None: everything runs right here.
    """
    console = Console(highlight=False, soft_wrap=True)
    settings = Settings()
    torch.set_num_threads(settings.threads)
    start = time.perf_counter()
    training, held_out = split_problems(settings.largest_operand, settings.held_out, settings.seed)

    console.print(Rule("warm-up: a policy learns to add from a teacher who miscounts"))
    policy = Policy(settings)
    losses = warm_up(policy.model, training, settings)
    console.print(
        f"{len(losses)} supervised steps, {time.perf_counter() - start:.1f} s, loss {losses[-1]:.2f} nats a token"
    )
    before = accuracies(policy, held_out)

    console.print(Rule("the pipeline, checked before it runs"))
    pipeline = grpo_pipeline(policy)
    console.print(str(pipeline.check()), style="green")
    console.print(f"{pipeline!r}")

    console.print(Rule("GRPO, every stage under contract"))
    figures = Figures()
    with nullcontext() if backend is None else team(policy, backend) as groups:
        train(console, pipeline, training, settings, figures, groups)
        if groups is not None:
            policy.model.load_state_dict(groups.weights())
    after = accuracies(policy, held_out)
    console.print(f"held-out accuracy on {len(held_out)} problems: greedy {before[0]:.1%} -> {after[0]:.1%}, ", end="")
    console.print(f"sampled {before[1]:.1%} -> {after[1]:.1%}")
    console.print(figures.table("what each stage cost, over all steps"))

    console.print(Rule("a gallery of faults"))
    for done, answer in gallery(settings):
        console.print(done, style="bold")
        console.print(answer, markup=False, style="red")
        console.print()
    console.print(f"{time.perf_counter() - start:.0f} s in all")


def train(
    console: Console,
    pipeline: Pipeline,
    problems: Sequence[Problem],
    settings: Settings,
    figures: Figures,
    groups: Team | None,
) -> None:
    """Run the GRPO steps, with a bar, and a line every few steps that also stays in a log."""
    config = settings.config()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    rewards: list[float] = []
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("GRPO", total=settings.grpo_steps)
        for step, batch in enumerate(prompt_batches(problems, settings), start=1):
            done = pipeline.run(batch, config, figures=figures, workers=None if groups is None else groups.stages)
            if groups is not None:
                groups.keep_up()
            if done.batch is not None:
                rewards.append(done.batch["token_level_scores"].sum().item() / len(done))
            progress.update(bar, advance=1)
            if step % REPORT_EVERY == 0:
                recent = rewards[-REPORT_EVERY:]
                shown = "  ".join(
                    f"{name.removeprefix('actor/')} {value:.4f}" for name, value in done.meta_info["metrics"].items()
                )
                progress.print(f"step {step:4}  reward {sum(recent) / len(recent):.3f}  {shown}")


def accuracies(policy: Policy, problems: Sequence[Problem]) -> tuple[float, float]:
    """The share of problems answered right by the most likely answer, and by a sampled one."""
    settings = policy.settings
    generator = torch.Generator().manual_seed(settings.seed)
    greedy, sampled = (
        held_out_accuracy(
            policy.model,
            problems,
            prompt_length=settings.prompt_length,
            response_length=settings.response_length,
            temperature=temperature,
            generator=generator,
        )
        for temperature in (0.0, 1.0)
    )
    return greedy, sampled


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--backend", choices=("local", "ray"), help="run the model's stages on groups of workers")
    main(parser.parse_args().backend)
