"""`trace`: a run of a loop becomes the draft of its contracts."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from batchpact.contracts.tracing.calls import Call
from batchpact.contracts.tracing.explaining import Configurations, plain_settings
from batchpact.contracts.tracing.order import in_order, steps
from batchpact.contracts.tracing.scope import Named, Scope
from batchpact.contracts.tracing.stages import Observed, draft_inputs, draft_stage, outputs_of
from batchpact.contracts.tracing.watching import Watch
from batchpact.contracts.tracing.writing import pipeline_source
from batchpact.schemas.errors import ContractError
from batchpact.schemas.violations import Violation


@dataclass(frozen=True)
class Run:
    """The calls of one run, and the settings of its configuration by their paths."""

    calls: Sequence[Call]
    settings: Mapping[str, object]


class Trace:
    """What was seen in one run or in several: traces of runs under different configurations add up.

    record = first + second
    print(record.source("grpo"))
    """

    def __init__(self, runs: Sequence[Run] = ()) -> None:
        self._runs = list(runs)

    def __add__(self, other: Trace) -> Trace:
        return Trace([*self._runs, *other._runs])

    @property
    def calls(self) -> list[str]:
        """The names of the functions that were seen, in the order of their calls; alike calls are kept twice only."""
        return [call.name for run in self._runs for call in run.calls]

    def source(self, name: str = "traced") -> str:
        """The stages and their pipeline, as Python source: a draft.

        What all calls of a function did is required. What only some did is optional, or stands under a condition, where
        exactly one key of the configurations explains it. Types are those that `infer` finds.

        Args:
            name: the name of the pipeline, and of the variable that holds it.

        Raises:
            ContractError: if nothing was seen, or nothing can have this name.
        """
        check_name(name)
        if not self.calls:
            raise _refused("calls", "none was seen", "a function that is called with a batch, and is no package's own")
        configs = Configurations([run.settings for run in self._runs])
        numbers = range(len(self._runs))
        read = {key for run in self._runs for call in run.calls for key in call.read}
        starts, found = zip(*(steps(run.calls, read) for run in self._runs), strict=True)
        stages: dict[tuple[str, str], Observed] = {}
        for number, taken in enumerate(found):
            for step in taken:
                observed = stages.setdefault((step.name, step.home), Observed(step.name, step.home))
                observed.calls.append((number, step.call))
        order = in_order([[(step.name, step.home) for step in taken] for taken in found])
        drafts = [draft_stage(stages[key], configs, numbers) for key in order]
        return pipeline_source(name, draft_inputs(starts, configs), drafts, outputs_of(drafts))


@contextmanager
def trace(*named: Named, config: object = None) -> Iterator[Trace]:
    """Watch what functions read from their batches and write to them, in a block.

        with trace(config=cfg) as record:
            trainer.fit()
        print(record.source())

    A stage is the outermost function that is called with a batch (our `DataProto`, verl's, or a `TensorDict`), or with
    tensors and columns of a batch that its caller has. What a stage calls in turn is part of it. Calls of other threads
    and processes are not seen, nor are generators and coroutines. The block runs more slowly: Python's profiler hook is
    used, and tensors of a few calls of each function are kept.

    Args:
        named: modules, packages, classes and functions that are watched; where there are none, all functions that
            belong neither to Python nor to an installed package.
        config: the configuration of the run, which explains what differs between runs: a mapping, an OmegaConf config,
            a dataclass or a pydantic model.

    Raises:
        ContractError: if something else is named.
    """
    with traced(Scope(named), config) as record:
        yield record


@contextmanager
def traced(scope: Scope, config: object) -> Iterator[Trace]:
    """`trace`, of the functions in a scope."""
    watch, record, settings = Watch(scope), Trace(), plain_settings(config)
    watch.start()
    try:
        yield record
    finally:
        watch.stop()
        record._runs.append(Run(watch.calls, settings))


def check_name(name: str) -> None:
    """Ask whether a pipeline can have this name, which had better be known before a long run.

    Raises:
        ContractError: if it cannot.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise _refused("name", repr(name), "the name of a variable")


def _refused(field: str, actual: str, expected: str) -> ContractError:
    violation = Violation(code="BP036", field=field, actual=actual, expected=expected)
    return ContractError("where a trace is written down", [violation])
