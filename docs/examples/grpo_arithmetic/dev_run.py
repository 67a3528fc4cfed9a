"""Runs warm-up, GRPO and both evaluations, and prints timings: for tuning, to be replaced by the pipeline.

Usage: cd docs/examples; python -m grpo_arithmetic.dev_run [name=value ...]
"""

import random
import sys
import time
from collections import defaultdict
from dataclasses import fields, replace

import numpy as np
import torch

from grpo_arithmetic import tokenizer
from grpo_arithmetic.actor import Actor, Reference
from grpo_arithmetic.model import CausalTransformer
from grpo_arithmetic.problems import encode_prompts, split_problems
from grpo_arithmetic.settings import Settings
from grpo_arithmetic.stages.advantage import apply_kl_penalty, group_advantages
from grpo_arithmetic.stages.evaluate import held_out_accuracy
from grpo_arithmetic.stages.reward import score
from grpo_arithmetic.warmup import warm_up


def main(settings: Settings) -> None:
    """One run."""
    start = time.perf_counter()
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    training, held_out = split_problems(settings.largest_operand, settings.held_out, settings.seed)
    model = CausalTransformer(
        tokenizer.VOCAB_SIZE,
        settings.prompt_length + settings.response_length,
        settings.width,
        settings.layers,
        settings.heads,
    )

    def accuracy(temperature: float = 0.0) -> float:
        return held_out_accuracy(
            model,
            held_out,
            prompt_length=settings.prompt_length,
            response_length=settings.response_length,
            temperature=temperature,
            generator=torch.Generator().manual_seed(settings.seed),
        )

    losses = warm_up(model, training, settings)
    warm = time.perf_counter() - start
    before, sampled_before = accuracy(), accuracy(1.0)
    print(f"warm-up {warm:.1f}s loss {losses[-1]:.3f} held-out {before:.3f}", flush=True)

    actor, reference = Actor(model, settings), Reference(model, settings)
    draws = random.Random(settings.seed)
    spent: defaultdict[str, float] = defaultdict(float)
    grpo_start = time.perf_counter()
    recent: list[float] = []
    for step in range(1, settings.grpo_steps + 1):
        drawn = draws.sample(training, settings.prompts_per_step)
        problems = [p for p in drawn for _ in range(settings.responses_per_prompt)]
        uid = np.array(
            [f"{step}-{i}" for i in range(len(drawn)) for _ in range(settings.responses_per_prompt)], dtype=object
        )
        prompts = encode_prompts(problems, settings.prompt_length)

        clock = time.perf_counter()

        def lap(name: str) -> None:
            nonlocal clock
            now = time.perf_counter()
            spent[name] += now - clock
            clock = now

        rollout = actor.generate(prompts)
        lap("generate")
        scores = score(rollout.responses, rollout.response_mask, [p.answer for p in problems])
        lap("reward")
        old_log_probs = actor.compute_log_prob(rollout)
        lap("old_log_probs")
        needs_reference = settings.use_kl_in_reward or settings.use_kl_loss
        ref_log_prob = reference.compute_ref_log_prob(rollout) if needs_reference else None
        lap("ref_log_prob")
        rewards = scores
        if settings.use_kl_in_reward and ref_log_prob is not None:
            rewards = apply_kl_penalty(
                scores, old_log_probs, ref_log_prob, rollout.response_mask, kl_coef=settings.kl_coef
            )
        advantages, _ = group_advantages(rewards, rollout.response_mask, uid)
        lap("advantage")
        metrics = actor.update(rollout, old_log_probs, advantages, ref_log_prob if settings.use_kl_loss else None)
        lap("update")
        recent.append(scores.sum().item() / len(problems))
        if step == 1 or step % 50 == 0:
            shown = " ".join(f"{k.removeprefix('actor/')} {v:.4f}" for k, v in metrics.items())
            print(
                f"step {step} reward {np.mean(recent[-25:]):.3f} held-out {accuracy():.3f} {shown} "
                f"({time.perf_counter() - grpo_start:.0f}s)",
                flush=True,
            )
    grpo = time.perf_counter() - grpo_start
    total = time.perf_counter() - start
    laps = " ".join(f"{name} {1000 * t / settings.grpo_steps:.1f}" for name, t in spent.items())
    print(f"grpo {grpo:.1f}s, per step {1000 * grpo / settings.grpo_steps:.0f}ms: {laps}")
    print(
        f"seed {settings.seed} RESULT greedy {before:.3f} -> {accuracy():.3f}, "
        f"sampled {sampled_before:.3f} -> {accuracy(1.0):.3f}, total {total:.1f}s"
    )


if __name__ == "__main__":
    kinds = {f.name: type(getattr(Settings(), f.name)) for f in fields(Settings)}
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    changes = {k: v == "True" if kinds[k] is bool else kinds[k](v) for k, v in given.items()}
    main(replace(Settings(), **changes))
