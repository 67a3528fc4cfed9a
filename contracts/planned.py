"""The stages of a pipeline in one list: those of sub-pipelines in their place, each with its condition."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.decorator import contract_of
from batchpact.schemas.condition_specs import AllSpec, ConditionSpec
from batchpact.schemas.conditions import Condition
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import ContractError, DeclarationError
from batchpact.schemas.record import SchemaSpec, StageSpec
from batchpact.schemas.stage import StageSchema
from batchpact.schemas.violations import Violation

if TYPE_CHECKING:
    from batchpact.contracts.pipeline import Pipeline
    from batchpact.contracts.workers.group import WorkerGroup
    from batchpact.contracts.workers.stage_call import StageCall


@dataclass(frozen=True, slots=True)
class Conditional:
    """A stage, or a sub-pipeline, that runs where a condition holds; made by `when`."""

    condition: Condition
    stage: StageLike


StageLike: TypeAlias = "Callable[..., Any] | type[StageSchema] | Pipeline | Conditional"


def when(condition: Condition, stage: StageLike) -> Conditional:
    """A stage of a pipeline that runs where a condition holds.

    Args:
        condition: about the configuration, the meta of the batch, or the fields that are there.
        stage: a stage function, a `StageSchema`, or a pipeline.

    Raises:
        DeclarationError: if the first is no condition.
    """
    if not isinstance(condition, Condition):
        raise wrong_plan("when", "condition", describe(condition), 'a condition, as in config("algorithm.use_kl")')
    return Conditional(condition, stage)


@dataclass(frozen=True, slots=True)
class Planned:
    """One stage in its place.

    Attributes:
        spec: its record, under the name that it has in the pipeline and with its condition.
        stage: the stage itself; None for the start of a sub-pipeline, which is only checked.
    """

    spec: StageSpec
    stage: Callable[..., Any] | type[StageSchema] | None

    def runnable(self, pipeline: str) -> Boundary:
        """The contract of a stage that can be called.

        Raises:
            ContractError: for a declaration without code, and for a coroutine function.
        """
        boundary = contract_of(self.stage)
        if boundary is None or isinstance(self.stage, type):
            actual, expected = "a declaration without code", "only @stage functions run"
        elif inspect.iscoroutinefunction(boundary.function):
            actual, expected = "a coroutine function", "run awaits nothing; await it in a loop of your own"
        else:
            return boundary
        raise wrong_run(pipeline, shown(self.stage), actual, expected)

    def on(self, pipeline: str, workers: WorkerGroup | StageCall) -> Planned:
        """The same stage, run by a group: by its method of the same name, or by the one that is given.

        Raises:
            ContractError: if the group has no such stage, or one with another contract.
        """
        from batchpact.contracts.workers.group import WorkerGroup

        if isinstance(workers, WorkerGroup):
            method = self.spec.name.rpartition("/")[2]
            try:
                workers = getattr(workers, method)
            except AttributeError as error:
                raise wrong_run(pipeline, self.spec.name, str(error), "a group with this stage") from None
        contract = contract_of(workers)
        if contract is None:
            raise wrong_run(pipeline, self.spec.name, describe(workers), "a WorkerGroup, or a stage of one")
        own, other = self.spec, contract.spec
        if (own.reads, own.writes, own.rows, own.drops) != (other.reads, other.writes, other.rows, other.drops):
            actual = f"the group's stage '{other.name}' has another contract, {other.qualname}"
            raise wrong_run(pipeline, own.name, actual, f"the one of {own.qualname}")
        return Planned(own, cast("StageCall", workers))


def plan(pipeline: str, stages: Sequence[StageLike]) -> list[Planned]:
    """The stages in the order in which they run.

    Raises:
        DeclarationError: if something in the list is no stage.
    """
    return [planned for at, stage in enumerate(stages) for planned in _planned(pipeline, at, stage)]


def _planned(pipeline: str, at: int, stage: StageLike) -> list[Planned]:
    if isinstance(stage, Conditional):
        return [_under(stage.condition.spec, planned) for planned in _planned(pipeline, at, stage.stage)]
    inside: Sequence[Planned] | None = getattr(stage, "planned", None)
    if inside is not None and not callable(stage):
        start = _start(stage.name, stage.inputs.__batchpact__.spec)
        return [Planned(start, None), *(_inside(stage.name, planned) for planned in inside)]
    if isinstance(stage, type) and issubclass(stage, StageSchema):
        return [Planned(stage.__batchpact__, stage)]
    boundary = contract_of(stage)
    if boundary is None or not callable(stage):
        expected = (
            "decorate it with @stage"
            if inspect.isroutine(stage)
            else "a stage function or a StageSchema class belongs there"
        )
        raise wrong_plan(pipeline, f"stage {at + 1}", f"{shown(stage)} has no contract", expected)
    return [Planned(boundary.spec, stage)]


def _under(condition: ConditionSpec, planned: Planned) -> Planned:
    own = planned.spec.when
    both = condition if own is None else AllSpec(of=(condition, own))
    return Planned(planned.spec.model_copy(update={"when": both}), planned.stage)


def _inside(pipeline: str, planned: Planned) -> Planned:
    """A stage of a sub-pipeline, under a name that says so."""
    return Planned(planned.spec.model_copy(update={"name": f"{pipeline}/{planned.spec.name}"}), planned.stage)


def _start(pipeline: str, inputs: SchemaSpec) -> StageSpec:
    """What a sub-pipeline finds at its start, as something that reads it."""
    nothing = SchemaSpec(name="Writes", qualname=f"{inputs.qualname}.Writes")
    return StageSpec(name=f"{pipeline}/inputs", qualname=inputs.qualname, reads=inputs, writes=nothing)


def shown(value: object) -> str:
    """What somebody put into a pipeline, in words."""
    return getattr(value, "__qualname__", describe(value))


def wrong_run(pipeline: str, field: str, actual: str, expected: str) -> ContractError:
    """The error for a pipeline that cannot be run as it is asked to."""
    violation = Violation(code="BP036", field=field, actual=actual, expected=expected)
    return ContractError(f"in pipeline '{pipeline}'", [violation])


def wrong_plan(pipeline: str, field: str, actual: str, expected: str) -> DeclarationError:
    """The error for a pipeline that is declared wrongly."""
    violation = Violation(code="BP051", field=field, actual=actual, expected=expected)
    return DeclarationError(f"in the pipeline '{pipeline}'", [violation])
