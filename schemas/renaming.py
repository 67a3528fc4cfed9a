"""A schema with other keys in the batch, and with arguments that have one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.compiled import unanswered
from batchpact.schemas.condition_specs import UNKNOWN, ConditionSpec, SubjectSpec, holds, with_subjects
from batchpact.schemas.fields import as_json
from batchpact.schemas.narrowing import heir
from batchpact.schemas.plan import Plan
from batchpact.schemas.record import FieldSpec


def renamed(
    schema: type[BatchSchema], keys: Mapping[str, str], fixed: Mapping[str, object]
) -> tuple[type[BatchSchema], dict[str, ConditionSpec]]:
    """The schema under other keys. Its attributes keep their names, so that code which knows the schema still fits.

    Args:
        schema: the schema.
        keys: the new key of each field that gets one, by its old key.
        fixed: the value of each argument that has one, by its key. Conditions that it decides are decided.

    Returns:
        A subclass, or the schema itself where nothing of it changes; and the fields that are off now, by their new
        keys, each with the condition that does not hold.
    """
    compiled = schema.__batchpact__
    off: dict[str, ConditionSpec] = {}
    fields = [(field.key, _renamed(field, keys, fixed)) for field in compiled.spec.fields]
    kept = []
    for before, field in fields:
        answer = None if field.when is None else holds(field.when, lambda subject: _value(subject, fixed))
        if answer is False and field.when is not None:
            off[field.key] = field.when
        else:
            kept.append((before, field if answer is None else field.model_copy(update={"when": None})))
    if [field for _, field in kept] == list(compiled.spec.fields):
        return schema, {}
    spec = compiled.spec.model_copy(update={"fields": tuple(field for _, field in kept)})
    names = {field.name for _, field in kept}
    values = {field.name: fixed[field.key] for _, field in kept if field.key in fixed}
    defaults = {**compiled.defaults, **values}
    made = replace(
        compiled,
        spec=spec,
        plan=Plan(unanswered(spec), {field.key: compiled.plan.types[before] for before, field in kept}),
        names=frozenset(names),
        defaults={name: value for name, value in defaults.items() if name in names},
        factories={n: make for n, make in compiled.factories.items() if n in names and n not in values},
        homes={field.name: (field, compiled.homes[field.name][1]) for _, field in fields},
        policies={keys.get(key, key): policies for key, policies in compiled.policies.items()},
        off=compiled.off | {field.name for _, field in fields if field.name not in names},
    )
    return heir(schema, made), off


def _renamed(field: FieldSpec, keys: Mapping[str, str], fixed: Mapping[str, object]) -> FieldSpec:
    changes: dict[str, object] = {}
    if field.key in keys:
        changes["key"] = keys[field.key]
    if field.same_as is not None and field.same_as in keys:
        changes["same_as"] = keys[field.same_as]
    if field.when is not None:
        changes["when"] = with_subjects(field.when, lambda subject: _subject(subject, keys))
    if field.key in fixed and field.place("arg") is not None:
        changes |= {"required": False, "default": as_json(fixed[field.key]), "source": None}
    return field.model_copy(update=changes)


def _subject(subject: SubjectSpec, keys: Mapping[str, str]) -> SubjectSpec:
    """What asks for a field by its key asks by its new one."""
    if subject.source in ("config", "arg") or subject.name not in keys:
        return subject
    return subject.model_copy(update={"name": keys[subject.name]})


def _value(subject: SubjectSpec, fixed: Mapping[str, object]) -> object:
    return fixed[subject.name] if subject.source == "arg" and subject.name in fixed else UNKNOWN
