"""Events added up for each step, under names that stay, for wandb and TensorBoard; neither of them is imported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from batchpact.contracts.reporting import Event

Log = Callable[[Mapping[str, float], "int | None"], None]
"""Writes the numbers of a step down, by their names."""


class WandbRun(Protocol):
    """What `wandb.init()` returns, and the module `wandb` itself."""

    def log(self, data: dict[str, Any], step: int | None = None) -> Any:
        """Write numbers down for a step."""


class ScalarWriter(Protocol):
    """TensorBoard's `SummaryWriter`, of torch or of tensorboardX."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> Any:
        """Write one number down for a step."""


class StepObserver:
    """Adds up the events of a step, and writes them down when the next step begins, or the `observe` block ends.

    A call whose batch has no `global_steps` counts for the step before it; where there was none, it is written down at
    once, without a step.

    Args:
        log: writes the numbers of a step down.
        step: says which step it is, where the batches do not.
    """

    def __init__(self, log: Log, step: Callable[[], int] | None = None) -> None:
        self._log = log
        self._step = step
        self._now: int | None = None
        self._sums: defaultdict[str, float] = defaultdict(float)

    def __call__(self, event: Event) -> None:
        """Add one call."""
        step = event.step if self._step is None else self._step()
        if step is not None and step != self._now:
            self.flush()
            self._now = step
        for name, value in scalars(event):
            self._sums[name] += value
        if self._now is None:
            self.flush()

    def flush(self) -> None:
        """Write down what was added up."""
        if self._sums:
            sums, self._sums = self._sums, defaultdict(float)
            self._log(sums, self._now)


def scalars(event: Event) -> Iterator[tuple[str, float]]:
    """The numbers of one call, by their names: `batchpact/critic/seconds`, `batchpact/critic/violations/BP005`."""
    numbers: dict[str, float] = {
        "calls": 1,
        "seconds": event.seconds,
        "seconds_checking": event.seconds_checking,
        "bytes_read": event.bytes_read,
        "bytes_written": event.bytes_written,
        "violations": len(event.violations),
    }
    if event.shipped:
        numbers["bytes_shipped"] = sum(event.shipped.values())
    for violation in event.violations:
        name = f"violations/{violation.code}"
        numbers[name] = numbers.get(name, 0) + 1
    for name, value in numbers.items():
        yield f"batchpact/{event.stage}/{name}", value


def to_wandb(run: WandbRun, step: Callable[[], int] | None = None) -> StepObserver:
    """An observer that logs to wandb, for a trainer that tells wandb its steps, as verl does.

        with observe(to_wandb(wandb.run)):
            trainer.fit()

    Args:
        run: the run, or the module `wandb`.
        step: says which step it is, where the batches have no `global_steps`.
    """
    return StepObserver(lambda values, now: run.log(dict(values), step=now), step)


def to_tensorboard(writer: ScalarWriter, step: Callable[[], int] | None = None) -> StepObserver:
    """An observer that logs to TensorBoard.

        with observe(to_tensorboard(SummaryWriter("runs/grpo"))):
            trainer.fit()

    Args:
        writer: a `SummaryWriter`; who made it closes it.
        step: says which step it is, where the batches have no `global_steps`.
    """

    def log(values: Mapping[str, float], now: int | None) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, now)

    return StepObserver(log, step)
