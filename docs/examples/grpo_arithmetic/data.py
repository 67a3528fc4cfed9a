"""Batches of prompts."""

import random
from collections.abc import Iterator, Sequence

from batchpact.dataproto import DataProto
from grpo_arithmetic.problems import Problem, encode_prompts
from grpo_arithmetic.settings import Settings


def prompt_batches(problems: Sequence[Problem], settings: Settings) -> Iterator[DataProto]:
    """The batch that each GRPO step starts with: prompts, their answers, and a uid for each prompt."""
    draws = random.Random(settings.seed)
    for step in range(1, settings.grpo_steps + 1):
        yield prompt_batch(draws.sample(problems, settings.prompts_per_step), step, settings)


def prompt_batch(problems: Sequence[Problem], step: int, settings: Settings) -> DataProto:
    """The batch of some problems, in step `step`."""
    return DataProto.from_dict(
        tensors={"prompts": encode_prompts(problems, settings.prompt_length)},
        non_tensors={
            "uid": [f"{step}-{row}" for row in range(len(problems))],
            "ground_truth": [problem.answer for problem in problems],
        },
        meta_info={"temperature": settings.temperature, "global_steps": step},
    )
