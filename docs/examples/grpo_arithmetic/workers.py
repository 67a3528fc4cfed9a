"""The stages that need a model, on groups of workers: some sample and score, one trains and hands its weights on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from batchpact.contracts import WorkerGroup, this_worker
from grpo_arithmetic.policy import Policy
from grpo_arithmetic.stages.log_probs import ActorWorker, ReferenceWorker
from grpo_arithmetic.stages.rollout import RolloutWorker
from grpo_arithmetic.stages.update import UpdateWorker

Backend: TypeAlias = Literal["local", "ray"]


class InferenceWorker(RolloutWorker, ActorWorker, ReferenceWorker):
    """Samples and scores its share of the rows, the frozen reference beside it."""

    def __init__(self, policy: Policy) -> None:
        """Start with a copy of this policy, and draw other numbers than the other workers do."""
        super().__init__(policy)
        ReferenceWorker.__init__(self, policy)
        torch.set_num_threads(policy.settings.threads)
        policy.generator.manual_seed(policy.settings.seed + this_worker().dp_rank)

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Go on with these weights."""
        self.policy.model.load_state_dict(weights)


class TrainingWorker(UpdateWorker):
    """Trains a policy of its own."""

    def weights(self) -> dict[str, Tensor]:
        """What the others need to keep up."""
        return self.policy.model.state_dict()


class Team:
    """The groups of a run.

    Attributes:
        stages: which group runs which stage; for `Pipeline.run(workers=...)`.
    """

    def __init__(self, inference: WorkerGroup, training: WorkerGroup) -> None:
        """Put these two to work."""
        self._inference = inference
        self._training = training
        self.stages = {
            "generate": inference,
            "compute_old_log_prob": inference,
            "compute_ref_log_prob": inference,
            "update_actor": training,
        }

    def weights(self) -> dict[str, Tensor]:
        """The weights that were trained last."""
        found: dict[str, Tensor] = self._training.call_rank_zero("weights")
        return found

    def keep_up(self) -> None:
        """Hand the trained weights to those who sample."""
        self._inference.call_all("load", self.weights())


@contextmanager
def team(policy: Policy, backend: Backend, workers: int = 2) -> Iterator[Team]:
    """Groups that start with a policy, which itself is left alone.

    Args:
        policy: where everybody starts.
        backend: `"local"` or `"ray"`.
        workers: among how many the rows are shared for sampling and scoring.
    """
    options: dict[str, Any] = {"backend": backend, "ray_options": {"num_cpus": 0.5}}
    with (
        WorkerGroup(InferenceWorker, policy, dp=workers, **options) as inference,
        WorkerGroup(TrainingWorker, policy, dp=1, **options) as training,
    ):
        yield Team(inference, training)
