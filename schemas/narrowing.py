"""A schema under known answers: without the fields that are off, and with each named column as a field of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import new_class
from typing import Any

from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.columns import Names, field_name
from batchpact.schemas.compiled import Compiled
from batchpact.schemas.condition_specs import ConditionSpec
from batchpact.schemas.fields import Declared
from batchpact.schemas.plan import Plan
from batchpact.schemas.policy_specs import NO_POLICIES
from batchpact.schemas.record import FieldSpec, SchemaSpec

Answers = tuple[tuple[str, bool | None], ...]
Named = tuple[tuple[str, tuple[str, ...]], ...]

NOTHING_NAMED: Mapping[str, Names] = {}


def conditions_of(schema: SchemaSpec) -> dict[str, ConditionSpec]:
    """The conditions of a schema, by the names of the fields and open columns that have one."""
    return {field.name: field.when for field in (*schema.fields, *schema.columns) if field.when is not None}


def narrowed(
    schema: type[BatchSchema], answers: Mapping[str, bool | None], names: Mapping[str, Names] = NOTHING_NAMED
) -> type[BatchSchema]:
    """The schema where conditions are answered, and open columns have names.

    Args:
        schema: the schema.
        answers: for each field with a condition, whether it holds; None where nobody knows, which makes it optional.
        names: for open columns, by attribute, what they are called; columns that are left out stay open, and where
            nobody can tell the names there are none.

    Returns:
        A subclass, always the same one for the same answers and names; the schema itself where it has neither.
    """
    compiled = schema.__batchpact__
    known = tuple((name, answers.get(name)) for name in conditions_of(compiled.spec))
    open_columns = [column.name for column in compiled.unnamed] if compiled.columns else []
    told = tuple(
        (name, found if isinstance(found := names[name], tuple) else ()) for name in open_columns if name in names
    )
    if not known and not told:
        return schema
    return _narrowed(schema, known, told)  # pyright: ignore[reportArgumentType]  # a class is hashable


@lru_cache(maxsize=1024)
def _narrowed(schema: type[BatchSchema], answers: Answers, names: Named) -> type[BatchSchema]:
    compiled = schema.__batchpact__
    known = dict(answers)
    off = {name for name, answer in answers if answer is False}
    columns = [made for name, keys in names if name not in off for made in _fields(compiled.columns[name], keys)]
    fields = (*compiled.spec.fields, *(column.spec for column in columns))
    types = {**compiled.plan.types, **{column.spec.key: column.types for column in columns}}
    spec = compiled.spec.model_copy(update={"fields": tuple(_answered(fields, known))})
    policies = {column.spec.key: column.policies for column in columns if column.policies != NO_POLICIES}
    narrow = replace(
        compiled,
        spec=spec,
        plan=Plan(spec, {field.key: types[field.key] for field in spec.fields}),
        defaults={name: value for name, value in compiled.defaults.items() if name not in off},
        factories={name: make for name, make in compiled.factories.items() if name not in off},
        policies={**compiled.policies, **policies},
        off=compiled.off | off,
        named={**compiled.named, **dict(names), **{name: () for name in off if name in compiled.columns}},
    )
    return heir(schema, narrow)


def heir(schema: type[BatchSchema], compiled: Compiled) -> type[BatchSchema]:
    """A subclass that says something else, under the same name."""
    namespace = {"__module__": schema.__module__, "__qualname__": schema.__qualname__, "__doc__": schema.__doc__}
    made: Any = new_class(schema.__name__, (schema,), exec_body=lambda body: body.update(namespace))
    made.__batchpact__ = compiled
    return made  # type: ignore[no-any-return]  # new_class does not say what it makes


def _fields(column: Declared, keys: Iterable[str]) -> Iterator[Declared]:
    """Each of some open columns, as a field."""
    for key in keys:
        spec = column.spec.model_copy(update={"name": field_name(column.spec.name, key), "key": key})
        yield replace(column, spec=spec)


def _answered(fields: Iterable[FieldSpec], answers: Mapping[str, bool | None]) -> Iterable[FieldSpec]:
    for field in fields:
        attribute = field.name if field.named_by is None else field.name.partition("[")[0]
        answer = answers.get(attribute, True)
        if answer is None:
            yield field.model_copy(update={"required": False})
        elif answer:
            yield field.model_copy(update={"when": None})
