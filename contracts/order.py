"""The calls of stages as they come, held against a declared pipeline: for a trainer that has a loop of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from batchpact.contracts.configuration import of_config
from batchpact.contracts.report import Report
from batchpact.contracts.reporting import Event
from batchpact.schemas.condition_specs import holds, words
from batchpact.schemas.names import closest
from batchpact.schemas.record import PipelineSpec, StageSpec
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where


class Order:
    """The calls that `Pipeline.observed` has seen.

    Calls are known by the name of their stage. A round through the pipeline ends where the next step begins
    (`global_steps`), where all calls have one; else where its first stage is called again, if that stands in one place
    of it. Calls of one stage in a row count as one, as a stage may be called for each mini-batch.

    Args:
        pipeline: the record of the pipeline.
        stages: those of its stages that can be called.
        config: the configuration that says which of them run; conditions that it does not decide are left open.
    """

    def __init__(self, pipeline: PipelineSpec, stages: Sequence[StageSpec], config: object) -> None:
        self._name = pipeline.name
        self._stages = stages
        self._on = [None if stage.when is None else holds(stage.when, partial(of_config, config)) for stage in stages]
        self._calls: list[tuple[str, int | None]] = []

    def add(self, event: Event) -> None:
        """Take in a call: an observer, for `observe`."""
        self._calls.append((event.stage, event.step))

    @property
    def calls(self) -> list[str]:
        """The names of the stages, in the order in which they were called; one for calls in a row."""
        names = [name for name, _ in self._calls]
        return [name for at, name in enumerate(names) if at == 0 or name != names[at - 1]]

    def report(self) -> Report:
        """What is not as the pipeline says: calls out of order, stages that did not run, calls it does not have."""
        rounds = list(self._rounds())
        findings: dict[Violation, None] = {}
        for calls in rounds:
            findings.update(dict.fromkeys(self._out_of_order(calls)))
        findings.update(dict.fromkeys(self._skipped(rounds)))
        findings.update(dict.fromkeys(self._strays()))
        checked = f"{count(len(self.calls), 'call')} in {count(len(rounds), 'round')}"
        return Report(f"the calls of pipeline '{self._name}'", checked, tuple(findings), ran=True)

    def _rounds(self) -> Iterator[list[str]]:
        """The calls of each round, without those that the pipeline does not have."""
        known = {_called(stage) for stage in self._stages}
        calls = [call for call in self._calls if call[0] in known]
        by_step = all(step is not None for _, step in calls)
        names = [_called(stage) for stage in self._stages]
        first = next((name for name in names if any(name == call[0] for call in calls)), None)
        if names.count(first or "") > 1:  # where validation begins like training, a call does not say which of the two
            first = None
        now: list[str] = []
        before: tuple[str, int | None] | None = None
        for call in calls:
            name, step = call
            if before is not None:
                begins = step != before[1] if by_step else name == first and before[0] != first and first in now
                if begins:
                    yield now
                    now = []
            if not now or now[-1] != name:
                now.append(name)
            before = call
        if now:
            yield now

    def _out_of_order(self, calls: Sequence[str]) -> Iterator[Violation]:
        """Calls after one that comes later. Where a stage stands in several places, any of them that fits is meant."""
        latest, after = -1, ""
        for name in calls:
            places = [at for at, stage in enumerate(self._stages) if _called(stage) == name]
            place = next((at for at in places if at >= latest), None)
            if place is None:
                yield self._found("BP064", name, f"called after {after!r}", f"the pipeline has it before {after!r}")
            else:
                latest, after = place, name

    def _skipped(self, rounds: Sequence[Sequence[str]]) -> Iterator[Violation]:
        """Stages that run in every configuration, or in this one, and were not called."""
        for stage, on in zip(self._stages, self._on, strict=True):
            name = _called(stage)
            missed = [at for at, calls in enumerate(rounds, start=1) if name not in calls]
            if not (on or (on is None and stage.when is None)) or not (missed or not rounds):
                continue
            actual = "never called"
            if len(missed) < len(rounds):
                actual = f"not called in {len(missed)} of {count(len(rounds), 'round')}, first in round {missed[0]}"
            expected = "it always runs" if stage.when is None else f"it runs where {words(stage.when)}, and that holds"
            yield self._found("BP065", stage.name, actual, expected)

    def _strays(self) -> Iterator[Violation]:
        names = [_called(stage) for stage in self._stages]
        for name in dict.fromkeys(self.calls):
            own = [at for at, known in enumerate(names) if known == name]
            if not own:
                match = closest(name, names)
                hint = "" if match is None else f"closest name: {match!r}"
                yield self._found("BP066", name, "called", "the pipeline has no such stage", hint)
            elif all(self._on[at] is False for at in own):
                whens = (self._stages[at].when for at in own)
                conditions = " or where ".join(words(when) for when in whens if when is not None)
                yield self._found("BP066", name, "called", f"it runs where {conditions}, and that does not hold")

    def _found(self, code: str, stage: str, actual: str, expected: str, hint: str = "") -> Violation:
        where = Where(pipeline=self._name)
        return Violation(code=code, field=stage, actual=actual, expected=expected, hint=hint, where=where)


def _called(stage: StageSpec) -> str:
    """The name that a stage has in a call; one of a sub-pipeline has another name in the plan."""
    return stage.name.rpartition("/")[2]
