"""`Pipeline`: stages in their order, checked before anything runs, and run by a plain loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from batchpact.contracts import registry
from batchpact.contracts.arguments import Filled
from batchpact.contracts.boundary import Boundary
from batchpact.contracts.configuration import config_in_use, of_batch, of_config, use_config
from batchpact.contracts.dump.saving import Broken
from batchpact.contracts.figures import Figures
from batchpact.contracts.late_names import rewritten
from batchpact.contracts.order import Order
from batchpact.contracts.passage import Passage
from batchpact.contracts.planned import Planned, StageLike, plan, shown, wrong_plan, wrong_run
from batchpact.contracts.proof.flow import Flow
from batchpact.contracts.report import Report
from batchpact.contracts.reporting import observe
from batchpact.contracts.settings import current
from batchpact.dataproto.binding import Bound
from batchpact.dataproto.carriers import Carrier, carrier_of
from batchpact.dataproto.union import Merging, union_stores
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.condition_specs import holds, words
from batchpact.schemas.conditions import Condition
from batchpact.schemas.describe import describe
from batchpact.schemas.errors import BatchError, ContractError, SettingError
from batchpact.schemas.record import PipelineSpec, StageSpec
from batchpact.schemas.stores import Stores, rows_of
from batchpact.schemas.text import count, quoted
from batchpact.schemas.violations import Violation, Where

if TYPE_CHECKING:
    from batchpact.contracts.workers.group import WorkerGroup
    from batchpact.contracts.workers.stage_call import StageCall

B = TypeVar("B")


class Pipeline:
    """Stages in the order in which they run.

    Args:
        name: the name of the pipeline.
        inputs: what the batch holds at the start.
        stages: stage functions, bound methods of workers, `StageSchema` classes for stages whose code is elsewhere
            (such a pipeline can be checked and not run), other pipelines, and each of these under a condition (`when`).
        outputs: keys that must be there at the end.
        always: conditions that hold in every configuration that anybody runs: what they exclude is not checked.

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
        always: Sequence[Condition] = (),
    ) -> None:
        if not (isinstance(inputs, type) and issubclass(inputs, BatchSchema)):
            raise wrong_plan(name, "inputs", f"{shown(inputs)} is no BatchSchema", "a class that lists the fields")
        if not isinstance(stages, Sequence):
            raise wrong_plan(name, "stages", f"{shown(stages)} is no list", "write stages=[...]")
        if not isinstance(always, Sequence) or not all(isinstance(condition, Condition) for condition in always):
            raise wrong_plan(name, "always", shown(always), "a list of conditions")
        self.name = name
        self.inputs = inputs
        self.planned = plan(name, stages)
        self.spec = PipelineSpec(
            name=name,
            inputs=inputs.__batchpact__.spec,
            outputs=(outputs,) if isinstance(outputs, str) else tuple(outputs),
            stages=tuple(planned.spec for planned in self.planned),
            always=tuple(condition.spec for condition in always),
        )
        self._report: Report | None = None

    def check(self, config: object = None) -> Report:
        """Check the whole pipeline without running anything.

        Every field that a stage reads was written before, in the same place, with the same dtype, rank and layout, and
        its dims mean the same as in the other fields that the stage reads. What is written is needed, and twins stay
        equal. This is proved for every configuration that the conditions can tell apart; where only some break it, the
        finding names the smallest.

        Args:
            config: check this configuration only: a mapping, an OmegaConf config, a dataclass or a pydantic model.
        """
        if config is not None:
            return self.report(self.flow(config))
        if self._report is None:
            self._report = self.report(self.flow())
        return self._report

    def flow(self, config: object = None) -> Flow:
        """The proof itself: what is wrong, which stages are on, and who reads what of whom.

        Args:
            config: one configuration; all of them where None.
        """
        return Flow(self.spec, list(registry.stages()), None if config is None else partial(of_config, config))

    def report(self, flow: Flow) -> Report:
        """What a proof of this pipeline has found, with what it looked at."""
        stages = self.spec.stages
        fields = {field.key for stage in stages for field in (*stage.reads.fields, *stage.writes.fields)}
        checked = f"{count(len(stages), 'stage')}, {count(len(fields), 'field')}"
        if flow.space.points > 1 and not flow.one:
            checked += f", {count(flow.configurations, 'configuration')}"
        return Report(f"pipeline '{self.name}'", checked, tuple(flow.findings))

    def run(
        self,
        batch: B,
        config: object = None,
        *,
        workers: Mapping[str, WorkerGroup | StageCall] | None = None,
        figures: Figures | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> B:
        """Run the stages one after the other, each on the batch with everything that was written before.

        Args:
            batch: what the pipeline starts with, in any carrier; it is left as it is.
            config: the configuration that `From(...)` fields are filled from.
            workers: the stages, by name, that a group runs: each by the group's method of that name, or by the stage of
                a group that is given (`{"infer_ref": actors.infer}`). All others run here.
            figures: where the time, fields and bytes of each stage are added up.
            progress: called before each stage with its name, its number from 1, and the number of stages.

        Returns:
            The batch after the last stage, in the carrier's kind.

        Raises:
            ContractError: if `check` has errors (nothing is run then), or at the boundary that does not hold.
        """
        self.check(config).raise_errors()
        carrier = _carrier(self.name, batch)
        here: Any = carrier.copy(batch)
        running = self._placed(workers or {})
        runnable = [(planned, planned.runnable(self.name)) for planned in running]
        with ExitStack() as stack:
            if config is not None:
                stack.enter_context(use_config(config))
            if figures is not None:
                stack.enter_context(observe(figures.add))
            for at, (planned, boundary) in enumerate(runnable):
                if not self._runs(planned.spec, carrier.stores(here), config):
                    continue
                if progress is not None:
                    progress(planned.spec.name, at + 1, len(runnable))
                here = _join(self.name, carrier, here, cast("Callable[..., Any]", planned.stage)(here), boundary)
        return here  # type: ignore[no-any-return]

    @contextmanager
    def observed(self, config: object = None) -> Iterator[Order]:
        """Observe the calls of stages in a block, to hold them against this pipeline: for a loop of your own.

            with grpo.observed(config) as order:
                trainer.fit()
            order.report().raise_errors()

        Calls are known by the names of their stages. Those of other threads are not seen, as with `observe`.

        Args:
            config: the configuration that says which stages run; the one in use (`use_config`) where None.
        """
        stages = [planned.spec for planned in self.planned if planned.stage is not None]
        order = Order(self.spec, stages, config_in_use() if config is None else config)
        with observe(order.add):
            yield order

    def _placed(self, workers: Mapping[str, WorkerGroup | StageCall]) -> list[Planned]:
        """The stages that run, each where it is to run."""
        running = [planned for planned in self.planned if planned.stage is not None]
        names = {planned.spec.name: None for planned in running}
        for name in workers:
            if name not in names:
                raise wrong_run(self.name, "workers", f"no stage is called '{name}'", f"a name among {quoted(names)}")
        return [
            planned.on(self.name, workers[planned.spec.name]) if planned.spec.name in workers else planned
            for planned in running
        ]

    def _runs(self, stage: StageSpec, held: Stores, config: object) -> bool:
        """Whether a stage is switched on for this batch."""
        if stage.when is None:
            return True
        answer = holds(stage.when, partial(of_batch, config, held))
        if answer is None:
            expected = f"a configuration: run(batch, config) with what decides {words(stage.when)}"
            violation = Violation(
                code="BP036", field=stage.name, actual="nobody knows whether it runs", expected=expected
            )
            raise ContractError(f"in pipeline '{self.name}'", [violation])
        return answer

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, {' -> '.join(stage.name for stage in self.spec.stages)})"

    def _repr_svg_(self) -> str | None:
        """Its stages and what flows between them, for notebooks; None where pygraphviz, which lays it out, is not."""
        from batchpact.contracts.reference.svg import svg
        from batchpact.contracts.reference.view import View

        try:
            return svg(View(self.spec, self.flow()))
        except SettingError:
            return None


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
    merges = Bound(boundary.writes, {}).named_by([{**held.meta, **gained.meta}]).merges
    rewrites = rewritten(boundary, held, gained)
    history = partial(carrier.history, batch)
    joined = union_stores(held, gained, "error", rewrites, history, Merging(merges) if merges else None)
    if joined.violations:
        where = Where(pipeline=pipeline, stage=boundary.name, boundary="writes")
        hint = f"if '{boundary.name}' rewrites the field, declare it in its Reads, too"
        found = [violation.at(where).model_copy(update={"hint": hint}) for violation in joined.violations]
        error = BatchError(f"in pipeline '{pipeline}', where the result of stage '{boundary.name}' is joined", found)
        settings = current()
        level = boundary.level_under(settings)
        passage = Passage(batch, carrier, held, batch, rows_of(held), Filled(), settings, level, perf_counter())
        saving = Broken(boundary, passage, "writes", gained).saving()
        raise error if saving is None else saving(error)
    carrier.put(batch, joined.stores, [*boundary.spec.drops, *(key for _, key in joined.leaves)])
    carrier.mark(batch, writers={key: boundary.name for key in gained.names()}, rewrites=frozenset())
    return batch


def _carrier(pipeline: str, batch: object) -> Carrier:
    carrier = carrier_of(batch)
    if carrier is None:
        expected = "a pipeline runs on a DataProto, a TensorDict or verl's DataProto"
        violation = Violation(code="BP036", field="batch", actual=f"called with {describe(batch)}", expected=expected)
        raise ContractError(f"where pipeline '{pipeline}' starts", [violation])
    return carrier
