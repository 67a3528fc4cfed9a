"""Everything that there is to tell of a project: its contracts, each pipeline proved, and each field's declarations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from batchpact.contracts.lock.file import Contracts
from batchpact.contracts.proof.flow import Flow
from batchpact.contracts.reference.view import View, declared, name_of
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec

Side: TypeAlias = Literal["reads", "writes", "inputs", "schema"]


class Declaration(NamedTuple):
    """A field as one contract declares it.

    Attributes:
        owner: the qualified name of the stage or schema; the name of a pipeline for its inputs.
        side: where in it the field stands.
        field: the field.
    """

    owner: str
    side: Side
    field: FieldSpec


@dataclass(frozen=True)
class Project:
    """What a reference tells, made of the records of contracts and of nothing else.

    Attributes:
        contracts: the contracts, from the code or from a lock file.
    """

    contracts: Contracts

    @cached_property
    def views(self) -> dict[str, View]:
        """Each pipeline with its proof over all configurations, by its name."""
        known = list(self.contracts.stages.values())
        return {name: View(spec, Flow(spec, known)) for name, spec in sorted(self.contracts.pipelines.items())}

    @cached_property
    def stages(self) -> dict[str, list[tuple[View, int]]]:
        """Every stage by its qualified name, with the places where pipelines have it; some are in none."""
        found: dict[str, list[tuple[View, int]]] = {name: [] for name in sorted(self.contracts.stages)}
        for view in self.views.values():
            for at, stage in enumerate(view.pipeline.stages):
                if stage.qualname in found:
                    found[stage.qualname].append((view, at))
        return found

    @cached_property
    def fields(self) -> dict[str, list[Declaration]]:
        """Every field by its key (open columns by their attribute), sorted, with all of its declarations."""
        found: dict[str, list[Declaration]] = {}
        for declaration in self._declarations():
            found.setdefault(name_of(declaration.field), []).append(declaration)
        return dict(sorted(found.items()))

    def _declarations(self) -> Iterator[Declaration]:
        for name, pipeline in sorted(self.contracts.pipelines.items()):
            yield from _of_schema(name, "inputs", pipeline.inputs)
        for name, stage in sorted(self.contracts.stages.items()):
            yield from _of_stage(name, stage)
        for name, schema in sorted(self.contracts.schemas.items()):
            yield from _of_schema(name, "schema", schema)


def _of_stage(name: str, stage: StageSpec) -> Iterator[Declaration]:
    yield from _of_schema(name, "reads", stage.reads)
    yield from _of_schema(name, "writes", stage.writes)


def _of_schema(owner: str, side: Side, schema: SchemaSpec) -> Iterator[Declaration]:
    return (Declaration(owner, side, field) for field in declared(schema))
