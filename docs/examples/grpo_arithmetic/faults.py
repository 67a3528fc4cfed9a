"""A gallery of faults: the same pipeline, broken in four ways, and what the contracts say."""

from collections.abc import Callable
from dataclasses import replace

import torch

from batchpact.contracts import Pipeline, stage
from batchpact.dataproto import DataProto
from batchpact.schemas import ContractError
from batchpact.schemas.rl.grpo import ComputeAdvantage, PromptBatch
from grpo_arithmetic.data import prompt_batch
from grpo_arithmetic.pipeline import grpo_stages
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.problems import Problem
from grpo_arithmetic.settings import Settings

PROBLEMS = [Problem("17+25=", "42"), Problem("8+9=", "17"), Problem("30+4=", "34")]


def gallery(settings: Settings) -> list[tuple[str, str]]:
    """Break the pipeline in each way; returns what was done and the message that it was answered with."""
    small = replace(settings, responses_per_prompt=2)
    return [(fault.__doc__ or "", _answer(fault, small)) for fault in (misplaced, mismatched, missing, undeclared)]


def misplaced(settings: Settings) -> None:
    """A field in the wrong place: the temperature is given per row."""
    batch = prompt_batch(PROBLEMS, step=1, settings=settings)
    temperature = batch.meta_info.pop("temperature")
    wrong = DataProto.from_dict(
        {"prompts": batch.batch["prompts"]} if batch.batch is not None else {},
        {**batch.non_tensor_batch, "temperature": [temperature] * len(batch)},
        batch.meta_info,
    )
    _run(settings, [], wrong)


def mismatched(settings: Settings) -> None:
    """A mismatched batch dim: advantages for the first response of each group only."""

    @stage(name="compute_advantage")
    def first_of_each_group(batch: ComputeAdvantage.Reads) -> ComputeAdvantage.Writes:
        first = torch.arange(0, len(batch.uid), settings.responses_per_prompt)
        advantages = batch.token_level_rewards[first]
        return ComputeAdvantage.Writes(advantages=advantages, returns=advantages.clone())

    _run(settings, [first_of_each_group])


def missing(settings: Settings) -> None:
    """A stage missing: nobody computes the old log-probabilities. Found before anything runs."""
    policy = Policy(settings)
    stages = [each for each in grpo_stages(policy) if each.__name__ != "compute_old_log_prob"]
    Pipeline("grpo_arithmetic", inputs=PromptBatch, stages=stages, outputs=("metrics",)).check().raise_errors()


def undeclared(settings: Settings) -> None:
    """A stage that looks for a field it did not declare: an advantage that peeks at the answers."""

    @stage(ComputeAdvantage, name="compute_advantage")
    def peeking(data: DataProto) -> DataProto:
        if "ground_truth" in data.non_tensor_batch:
            raise AssertionError("never reached: the look itself is refused")
        return data

    _run(settings, [peeking])


def _run(settings: Settings, instead: list[Callable[..., DataProto]], batch: DataProto | None = None) -> None:
    """Run the pipeline with some stages replaced by others of the same name."""
    policy = Policy(settings)
    by_name = {replacement.contract.name: replacement for replacement in instead}  # type: ignore[attr-defined]
    stages = [by_name.get(each.__name__, each) for each in grpo_stages(policy)]
    pipeline = Pipeline("grpo_arithmetic", inputs=PromptBatch, stages=stages, outputs=("metrics",))
    pipeline.run(prompt_batch(PROBLEMS, step=1, settings=settings) if batch is None else batch, settings.config())


def _answer(fault: Callable[[Settings], None], settings: Settings) -> str:
    try:
        fault(settings)
    except ContractError as error:
        return f"{type(error).__name__}: {error}"
    raise RuntimeError(f"{fault.__name__} was not noticed")
