"""Conditions of a stage as conditions of the pipeline: an argument is another one in each call."""

from __future__ import annotations

from batchpact.schemas.condition_specs import SubjectSpec, with_subjects
from batchpact.schemas.record import FieldSpec, SchemaSpec, StageSpec


def scoped(stage: StageSpec) -> StageSpec:
    """The stage with its arguments named after it, or after the key of the configuration that fills them."""
    sources = {field.key: field.source for field in stage.reads.fields if field.place("arg") is not None}
    declared = [field for schema in (stage.reads, stage.writes) for field in (*schema.fields, *schema.columns)]
    conditional = any(field.when is not None for field in declared)
    if stage.when is None and not conditional:
        return stage

    def subject(found: SubjectSpec) -> SubjectSpec:
        if found.source != "arg":
            return found
        path = sources.get(found.name)
        if path is not None:
            return SubjectSpec(source="config", name=path, default=found.default)
        return found.model_copy(update={"name": f"{stage.name}.{found.name}"})

    def in_scope(field: FieldSpec) -> FieldSpec:
        return field if field.when is None else field.model_copy(update={"when": with_subjects(field.when, subject)})

    def schema(found: SchemaSpec) -> SchemaSpec:
        parts = {"fields": tuple(map(in_scope, found.fields)), "columns": tuple(map(in_scope, found.columns))}
        return found.model_copy(update=parts)

    when = None if stage.when is None else with_subjects(stage.when, subject)
    return stage.model_copy(update={"when": when, "reads": schema(stage.reads), "writes": schema(stage.writes)})
