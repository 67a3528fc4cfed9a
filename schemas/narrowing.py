"""A schema under known answers to its conditions: without the fields that are off, and with the others as declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import new_class
from typing import Any

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.compiled import Compiled
from batchpact.schemas.condition_specs import ConditionSpec
from batchpact.schemas.plan import Plan
from batchpact.schemas.record import FieldSpec, SchemaSpec

Answers = tuple[tuple[str, bool | None], ...]


def conditions_of(schema: SchemaSpec) -> dict[str, ConditionSpec]:
    """The conditions of a schema, by the names of the fields that have one."""
    return {field.name: field.when for field in schema.fields if field.when is not None}


def narrowed(schema: type[BatchSchema], answers: Mapping[str, bool | None]) -> type[BatchSchema]:
    """The schema where conditions are answered.

    Args:
        schema: the schema.
        answers: for each field with a condition, whether it holds; None where nobody knows, which makes it optional.

    Returns:
        A subclass, always the same one for the same answers; the schema itself where it has no conditions.
    """
    known = tuple((name, answers.get(name)) for name in conditions_of(schema.__batchpact__.spec))
    if not known:
        return schema
    return _narrowed(schema, known)  # pyright: ignore[reportArgumentType]  # a class is hashable


@lru_cache(maxsize=1024)
def _narrowed(schema: type[BatchSchema], answers: Answers) -> type[BatchSchema]:
    compiled = schema.__batchpact__
    known = dict(answers)
    off = {name for name, answer in answers if answer is False}
    spec = compiled.spec.model_copy(update={"fields": tuple(_answered(compiled.spec.fields, known))})
    types = {field.key: compiled.plan.types[field.key] for field in spec.fields}
    return heir(
        schema,
        replace(
            compiled,
            spec=spec,
            plan=Plan(spec, types),
            defaults={name: value for name, value in compiled.defaults.items() if name not in off},
            factories={name: make for name, make in compiled.factories.items() if name not in off},
            off=frozenset(off),
        ),
    )


def heir(schema: type[BatchSchema], compiled: Compiled) -> type[BatchSchema]:
    """A subclass that says something else, under the same name."""
    namespace = {"__module__": schema.__module__, "__qualname__": schema.__qualname__, "__doc__": schema.__doc__}
    made: Any = new_class(schema.__name__, (schema,), exec_body=lambda body: body.update(namespace))
    made.__batchpact__ = compiled
    return made  # type: ignore[no-any-return]  # new_class does not say what it makes


def _answered(fields: Iterable[FieldSpec], answers: Mapping[str, bool | None]) -> Iterable[FieldSpec]:
    for field in fields:
        answer = answers.get(field.name, True)
        if answer is None:
            yield field.model_copy(update={"required": False})
        elif answer:
            yield field.model_copy(update={"when": None})
