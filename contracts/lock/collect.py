"""Every contract that targets name: pipelines with their stages and inputs, stages, and schemas that stand alone."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.lock.normal import plain_stage
from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.targets import defined_in, resolve, wrong_target
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.errors import SettingError
from batchpact.schemas.record import PipelineSpec, StageSpec
from batchpact.schemas.stage import StageSchema, reads_of, writes_of


def collect(targets: Iterable[str]) -> Contracts:
    """The contracts of a project.

    A module stands for everything that is defined in it and for every pipeline that it has a name for, a package also
    for those of its modules that were imported. A stage schema whose contract a function of the project keeps to is not
    listed beside it, nor is a schema from which others are derived.

    Args:
        targets: `module`, `path.py`, `module:name` or `path.py:name`.

    Raises:
        SettingError: if a target leads nowhere or to something that is no contract, or two contracts have one name.
    """
    collector = _Collector()
    resolved = [(target, *resolve(target)) for target in targets]  # all of them, before it is asked what was imported
    for target, module, name, value in resolved:
        collector.add(target, module, name, value)
    return collector.contracts()


class _Collector:
    """Takes in one target after the other."""

    def __init__(self) -> None:
        self._target = ""
        self._pipelines: dict[str, PipelineSpec] = {}
        self._stages: dict[str, StageSpec] = {}
        self._declared: dict[str, StageSpec] = {}
        self._named: dict[str, type[BatchSchema]] = {}
        self._schemas: dict[str, type[BatchSchema]] = {}
        self._used: set[type[BatchSchema]] = set()

    def add(self, target: str, module: ModuleType, name: str, value: object) -> None:
        """Take in what a target names."""
        self._target = target
        if not name:
            if not [value for value in defined_in(module) if self._take(value, self._declared, self._schemas)]:
                raise wrong_target(target, f"{target} holds no contract", "name a module that defines one")
        elif not self._take(value, self._stages, self._named):
            kind = "class" if isinstance(value, type) else type(value).__name__
            expected = "a Pipeline, a stage, a StageSchema or a BatchSchema belongs there"
            raise wrong_target(target, f"{name} is a {kind}", expected)

    def _take(self, value: object, declared: dict[str, StageSpec], schemas: dict[str, type[BatchSchema]]) -> bool:
        boundary = value if isinstance(value, Boundary) else contract_of(value)
        if isinstance(value, Pipeline):
            self._add_pipeline(value)
        elif boundary is not None:
            self._used |= {boundary.reads, boundary.writes}
            self._add_stage(self._stages, boundary.spec)
        elif isinstance(value, type) and issubclass(value, StageSchema) and value is not StageSchema:
            self._used |= {reads_of(value), writes_of(value)}
            self._add_stage(declared, value.__batchpact__)
        elif isinstance(value, type) and issubclass(value, BatchSchema) and value is not BatchSchema:
            schemas[value.__batchpact__.spec.qualname] = value
        else:
            return False
        return True

    def _add_pipeline(self, pipeline: Pipeline) -> None:
        self._used.add(pipeline.inputs)
        if self._pipelines.setdefault(pipeline.name, pipeline.spec) != pipeline.spec:
            raise self._twice(f"two pipelines are called {pipeline.name!r}")
        for planned in pipeline.planned:
            if planned.stage is not None:
                self._take(planned.stage, self._stages, self._named)

    def _add_stage(self, stages: dict[str, StageSpec], stage: StageSpec) -> None:
        if plain_stage(stages.setdefault(stage.qualname, stage)) != plain_stage(stage):
            raise self._twice(f"two different stages are called {stage.qualname}")

    def _twice(self, text: str) -> SettingError:
        return wrong_target(self._target, text, "give them names that tell them apart")

    def contracts(self) -> Contracts:
        """What was taken in, without what is there under another name."""
        kept = {_parts(stage) for stage in self._stages.values()}
        free = {name: stage for name, stage in self._declared.items() if _parts(stage) not in kept}
        used = {*self._used, *self._schemas.values(), *self._named.values()}
        alone = {
            name: schema
            for name, schema in self._schemas.items()
            if schema not in self._used and not any(other is not schema and issubclass(other, schema) for other in used)
        }
        schemas = {name: schema.__batchpact__.spec for name, schema in {**alone, **self._named}.items()}
        return Contracts({**free, **self._stages}, schemas, self._pipelines)


def _parts(stage: StageSpec) -> tuple[str, str]:
    return stage.reads.qualname, stage.writes.qualname
