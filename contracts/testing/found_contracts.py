"""What of a project can be tested: its pipelines, the code of its stages, and its schemas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from batchpact.contracts.boundary import Boundary
from batchpact.contracts.decorator import contract_of
from batchpact.contracts.pipeline import Pipeline
from batchpact.contracts.signature import needs_object
from batchpact.contracts.targets import defined_in, resolve, wrong_target
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.stage import NoFields, StageSchema, reads_of, writes_of


class FoundContracts:
    """The contracts that targets name, each once. A module stands for what is defined in it, and its pipelines.

    Args:
        targets: `module`, `path.py`, `module:name` or `path.py:name`.

    Attributes:
        pipelines: the pipelines.
        stages: the contracts of functions and methods, by the qualified names of these.
        functions: those of the functions that can be called with a batch alone.
        schemas: by their qualified names.

    Raises:
        SettingError: if a target leads nowhere, or to something that is no contract.
    """

    def __init__(self, targets: Iterable[str]) -> None:
        self.pipelines: list[Pipeline] = []
        self.stages: dict[str, Boundary] = {}
        self.functions: dict[str, Callable[..., Any]] = {}
        self.schemas: dict[str, type[BatchSchema]] = {}
        for target in targets:
            module, name, value = resolve(target)
            values = [value] if name else [*defined_in(module)]
            if not [found for found in values if self._take(found)]:
                raise wrong_target(target, f"{name or target} holds no contract", "a pipeline, a stage or a schema")

    def _take(self, value: object) -> bool:
        boundary = value if isinstance(value, Boundary) else contract_of(value)
        if isinstance(value, Pipeline):
            if not any(value is pipeline for pipeline in self.pipelines):
                self.pipelines.append(value)
            self._take(value.inputs)
            for planned in value.planned:
                self._take(planned.stage)
        elif boundary is not None:
            self._take_stage(boundary, value)
        elif isinstance(value, type) and issubclass(value, StageSchema):
            self._take(reads_of(value))
            self._take(writes_of(value))
        elif isinstance(value, type) and issubclass(value, BatchSchema):
            if value not in (BatchSchema, NoFields):
                self.schemas.setdefault(value.__batchpact__.spec.qualname, value)
        else:
            members = vars(value).values() if isinstance(value, type) else ()
            return bool([member for member in members if contract_of(member) is not None and self._take(member)])
        return True

    def _take_stage(self, boundary: Boundary, value: object) -> None:
        own = boundary if boundary.alias_of is None else boundary.alias_of  # whose names the code has
        qualname = own.spec.qualname
        self.stages.setdefault(qualname, own)
        is_function = callable(value) and not inspect.ismethod(value) and not needs_object(value)
        if is_function and boundary is own and not isinstance(value, Boundary):
            self.functions.setdefault(qualname, value)  # type: ignore[arg-type]
        self._take(own.reads)
        self._take(own.writes)
