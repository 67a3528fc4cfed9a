"""`Pipeline`: stages in their order, checked before anything runs, and run by a plain loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeAlias, TypeVar

from batchpact.contracts import registry
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import use_config
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.figures import Figures
from batchpact.contracts.proof.flow import check_flow
from batchpact.contracts.report import Report
from batchpact.contracts.reporting import observe
from batchpact.dataproto.carriers import Carrier, carrier_of
from batchpact.dataproto.union import union_stores
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import BatchError, ContractError, DeclarationError
from batchpact.schemas.record import PipelineSpec, StageSpec
from batchpact.schemas.stage import StageSchema
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import count
from batchpact.schemas.violations import Violation, Where

B = TypeVar("B")
StageLike: TypeAlias = "Callable[..., Any] | type[StageSchema]"


class Pipeline:
    """Stages in the order in which they run.

    Args:
        name: the name of the pipeline.
        inputs: what the batch holds at the start.
        stages: stage functions, bound methods of workers, or `StageSchema` classes for stages whose code is elsewhere
            (such a pipeline can be checked and not run).
        outputs: keys that must be there at the end.

    Raises:
        DeclarationError: if something in the list is no stage.
    """

    def __init__(
        self,
        name: str,
        *,
        inputs: type[BatchSchema],
        stages: Sequence[StageLike],
        outputs: Sequence[str] = (),
    ) -> None:
        if not (isinstance(inputs, type) and issubclass(inputs, BatchSchema)):
            raise _wrong(name, "inputs", f"{_shown(inputs)} is no BatchSchema", "a class that lists the fields")
        if not isinstance(stages, Sequence):
            raise _wrong(name, "stages", f"{_shown(stages)} is no list", "write stages=[...]")
        self.name = name
        self.inputs = inputs
        self._stages = list(stages)
        self.spec = PipelineSpec(
            name=name,
            inputs=inputs.__batchpact__.spec,
            outputs=(outputs,) if isinstance(outputs, str) else tuple(outputs),
            stages=tuple(_spec(name, at, stage) for at, stage in enumerate(stages)),
        )
        self._report: Report | None = None

    def check(self) -> Report:
        """Check the whole pipeline without running anything.

        Every field that a stage reads was written before, in the same place, with the same dtype, rank and layout, and
        its dims mean the same as in the other fields that the stage reads.
        """
        if self._report is None:
            stages = self.spec.stages
            fields = {field.key for stage in stages for field in (*stage.reads.fields, *stage.writes.fields)}
            findings = check_flow(self.spec, registry.stages())
            checked = f"{count(len(stages), 'stage')}, {count(len(fields), 'field')}"
            self._report = Report(f"pipeline '{self.name}'", checked, tuple(findings))
        return self._report

    def run(
        self,
        batch: B,
        config: object = None,
        *,
        figures: Figures | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> B:
        """Run the stages one after the other, each on the batch with everything that was written before.

        Args:
            batch: what the pipeline starts with, in any carrier; it is left as it is.
            config: the configuration that `From(...)` fields are filled from.
            figures: where the time, fields and bytes of each stage are added up.
            progress: called before each stage with its name, its number from 1, and the number of stages.

        Returns:
            The batch after the last stage, in the carrier's kind.

        Raises:
            ContractError: if `check` has errors (nothing is run then), or at the boundary that does not hold.
        """
        self.check().raise_errors()
        carrier = _carrier(self.name, batch)
        here: Any = carrier.copy(batch)
        runnable = [_runnable(self.name, stage) for stage in self._stages]
        with ExitStack() as stack:
            if config is not None:
                stack.enter_context(use_config(config))
            if figures is not None:
                stack.enter_context(observe(figures.add))
            for at, (stage, boundary) in enumerate(runnable):
                if progress is not None:
                    progress(boundary.name, at + 1, len(self._stages))
                here = _join(self.name, carrier, here, stage(here), boundary)
        return here  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, {' -> '.join(stage.name for stage in self.spec.stages)})"


def _join(pipeline: str, carrier: Carrier, batch: Any, result: Any, boundary: Boundary) -> Any:
    """The batch after a stage: its result joined, or in its new rows; what it drops is gone."""
    if isinstance(result, tuple):
        result = result[0]
    if result is batch:
        return batch
    if result is None:
        carrier.put(batch, Stores.empty(), boundary.spec.drops)
        return batch
    if boundary.spec.rows.kind != "same":
        return result
    held, gained = carrier.stores(batch), carrier.stores(result)
    joined = union_stores(held, gained, "error", boundary.rewrites, partial(carrier.history, batch))
    if joined.violations:
        where = Where(pipeline=pipeline, stage=boundary.name, boundary="writes")
        hint = f"if '{boundary.name}' rewrites the field, declare it in its Reads, too"
        found = [violation.at(where).model_copy(update={"hint": hint}) for violation in joined.violations]
        raise BatchError(f"in pipeline '{pipeline}', where the result of stage '{boundary.name}' is joined", found)
    carrier.put(batch, joined.stores, [*boundary.spec.drops, *(key for _, key in joined.leaves)])
    carrier.mark(batch, writers={key: boundary.name for key in gained.names()}, rewrites=frozenset())
    return batch


def _spec(pipeline: str, at: int, stage: StageLike) -> StageSpec:
    if isinstance(stage, type) and issubclass(stage, StageSchema):
        return stage.__batchpact__
    boundary = contract_of(stage)
    if boundary is None:
        plain = inspect.isroutine(stage)
        expected = "decorate it with @stage" if plain else "a stage function or a StageSchema class belongs there"
        raise _wrong(pipeline, f"stage {at + 1}", f"{_shown(stage)} has no contract", expected)
    return boundary.spec


def _shown(value: object) -> str:
    return getattr(value, "__qualname__", describe(value))


def _wrong(pipeline: str, field: str, actual: str, expected: str) -> DeclarationError:
    violation = Violation(code="BP051", field=field, actual=actual, expected=expected)
    return DeclarationError(f"in the pipeline '{pipeline}'", [violation])


def _runnable(pipeline: str, stage: StageLike) -> tuple[Callable[..., Any], Boundary]:
    boundary = contract_of(stage)
    if boundary is None or isinstance(stage, type):
        actual, expected = "a declaration without code", "only @stage functions run"
    elif inspect.iscoroutinefunction(stage):
        actual, expected = "a coroutine function", "run awaits nothing; await it in a loop of your own"
    else:
        return stage, boundary
    name = getattr(stage, "__qualname__", describe(stage))
    violation = Violation(code="BP036", field=name, actual=actual, expected=expected)
    raise ContractError(f"in pipeline '{pipeline}'", [violation])


def _carrier(pipeline: str, batch: object) -> Carrier:
    carrier = carrier_of(batch)
    if carrier is None:
        expected = "a pipeline runs on a DataProto, a TensorDict or verl's DataProto"
        violation = Violation(code="BP036", field="batch", actual=f"called with {describe(batch)}", expected=expected)
        raise ContractError(f"where pipeline '{pipeline}' starts", [violation])
    return carrier
