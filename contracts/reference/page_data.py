"""What the page to explore knows of a project, as plain data that JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from batchpact.contracts.proof.cases import Key
from batchpact.contracts.proof.open_columns import columns_key
from batchpact.contracts.reference.details import details
from batchpact.contracts.reference.project import Declaration, Project
from batchpact.contracts.reference.svg import svg
from batchpact.contracts.reference.switches import Switches
from batchpact.contracts.reference.told import Line, Told
from batchpact.contracts.reference.view import View, declared, name_of, names
from batchpact.contracts.reference.words import Words
from batchpact.schemas.catalogue import CODES
from batchpact.schemas.condition_specs import ConditionSpec, words
from batchpact.schemas.declared import either
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec
from batchpact.schemas.text import sentence

Plain: TypeAlias = "dict[str, Any]"

REGIONS = 16
"""How many regions of a finding the page is told at most; of further ones it says that they may have it."""

SHOWN = 3
"""How many configurations of a finding it shows."""


def page_data(project: Project) -> Plain:
    """Everything that the page shows.

    Sentences are lists of texts and of `[kind, name, text]` for links; conditions are compiled by `switches.py`.
    """
    return {
        "pipelines": [_Pipeline(view).plain() for view in project.views.values()],
        "fields": {name: _field(declarations) for name, declarations in project.fields.items()},
        "loose": {
            "stages": [_loose(project.contracts.stages[name]) for name, places in project.stages.items() if not places],
            "schemas": [
                {"name": name, "about": [schema.description] if schema.description else []}
                for name, schema in sorted(project.contracts.schemas.items())
            ],
        },
        "stages": len(project.contracts.stages),
        "codes": [code.model_dump(include={"code", "title", "means", "hurts", "fix"}) for code in CODES.values()],
    }


def _field(declarations: list[Declaration]) -> Plain:
    placements = (place.placement for declaration in declarations for place in declaration.field.places)
    return {"kinds": list(dict.fromkeys(placements)), "declared": list(map(_declaration, declarations))}


def _declaration(declaration: Declaration) -> Plain:
    field = declaration.field
    told = {"owner": declaration.owner, "side": declaration.side, "place": either(field), "about": field.description}
    where = [] if field.when is None else [f"where {words(field.when)}"]
    return {**told, "details": [*where, *([] if field.required else ["optional"]), *details(field)]}


def _loose(stage: StageSpec) -> Plain:
    """A stage that is in no pipeline. What it reads and writes stands with the fields: nobody comes before or after."""
    about = [stage.description] if stage.description else []
    return {"name": stage.qualname, "about": about, "rows": str(stage.rows)}


class _Pipeline:
    """One pipeline as plain data, in which a condition is a number in the list of conditions."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._flow = view.flow
        self._switches = Switches(view.flow)
        self._conditions: list[Plain] = []
        self._numbers: dict[str, int] = {}
        self._keys = {key: number for number, key in enumerate(view.flow.space.keys())}

    def plain(self) -> Plain:
        """Everything that there is to tell of it."""
        pipeline = self._view.pipeline
        inputs = declared(pipeline.inputs)
        return {
            "name": pipeline.name,
            "inputs": [{"field": name_of(field), "on": self._condition(field.when, -1)} for field in inputs],
            "outputs": list(pipeline.outputs),
            "stages": [self._stage(at) for at in range(len(pipeline.stages))],
            "fields": [self._told(self._view.field(name)) for name in self._view.fields()],
            "keys": [
                {"text": text, "cases": [{"label": case.label, "text": case.text} for case in cases]}
                for text, cases in self._flow.space.named().items()
            ],
            "parts": list(self._parts()),
            "always": [self._condition(condition, -1) for condition in pipeline.always],
            "findings": list(self._findings()),
            "conditions": self._conditions,
            "graph": svg(self._view),
        }

    def _stage(self, at: int) -> Plain:
        """What is told of a stage; the lines about its fields with the conditions of these."""
        stage, scoped = self._view.pipeline.stages[at], self._flow.stages[at]
        told = self._told(self._view.stage(at))
        on = self._condition(scoped.when, at)
        conditions = {
            "reads": iter([self._field_condition(field, scoped.reads, at) for field in declared(stage.reads)]),
            "writes": iter([self._field_condition(field, scoped.writes, at) for field in declared(stage.writes)]),
        }
        for line in told["lines"]:
            if "about" in line:
                line["on"] = next(conditions[line["label"]])
        return {**told, "on": on, "qualname": stage.qualname, "drops": list(stage.drops)}

    def _field_condition(self, field: FieldSpec, scoped: SchemaSpec, at: int) -> int | None:
        found = scoped.field(columns_key(field))
        return self._condition(None if found is None else found.when, at)

    def _condition(self, condition: ConditionSpec | None, at: int) -> int | None:
        """The number of a condition; None where nothing is asked."""
        if condition is None:
            return None
        test = self._switches.compiled(condition, at)
        told = {"text": words(condition), "names": list(names(condition).items()), "test": test}
        number = self._numbers.setdefault(json.dumps(told), len(self._conditions))
        if number == len(self._conditions):
            self._conditions.append(told)
        return number

    def _parts(self) -> Iterator[Plain]:
        """The keys that are asked about together, with the class of each combination of their cases.

        Combinations are in the order in which the last key changes fastest.
        """
        for part in self._flow.space.parts:
            yield {"keys": [self._keys[key] for key in part.keys], "classes": part.class_of}

    def _choice(self, fixed: Mapping[Key, int]) -> list[list[int]]:
        """Keys and cases, by their numbers."""
        return [[self._keys[key], case] for key, case in fixed.items()]

    def _told(self, told: Told) -> Plain:
        return {"name": told.name, "about": list(told.descriptions), "lines": list(map(_line, told.lines))}

    def _findings(self) -> Iterator[Plain]:
        """What `check` finds, with the configurations in which it is so."""
        pipeline = self._view.pipeline
        schemas = [pipeline.inputs, *(side for stage in pipeline.stages for side in (stage.reads, stage.writes))]
        names = {columns_key(column): column.name for schema in schemas for column in schema.columns}
        space = self._flow.space
        for violation, points in zip(self._flow.findings, self._flow.broken, strict=True):
            regions, whole = space.regions(points, self._flow.valid, REGIONS)
            configurations, shown = space.configurations(points, self._flow.valid, SHOWN)
            smallest = ", ".join(space.keys()[key][case].text for key, case in configurations[0].items())
            yield {
                "code": violation.code,
                "severity": violation.severity,
                "stage": violation.where.stage,
                "side": violation.where.boundary,
                "field": names.get(violation.field, violation.field),
                "text": sentence(violation).removesuffix(f"with {smallest}").removesuffix("; "),  # it is told apart
                "regions": [[list(fixed) for fixed in region.items()] for region in regions],
                "whole": whole,
                "configurations": list(map(self._choice, configurations)),
                "others": not shown,
            }


def _line(line: Line) -> Plain:
    about = {} if line.about is None else {"about": [line.about.kind, line.about.name, line.about.text]}
    return {"label": line.label, **about, "facts": list(map(_words, line.facts))}


def _words(words: Words) -> list[str | list[str]]:
    return [word if isinstance(word, str) else [word.kind, word.name, word.text] for word in words]
