"""Records in the form that the lock file has, and back.

The form says what is declared and nothing else: what is at its default is left out, what has no order is sorted, and a
dtype family stands by its name, as the dtypes that belong to it depend on the versions of torch and jaxtyping.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

import jaxtyping

from batchpact.schemas.columns import column_key
from batchpact.schemas.condition_specs import AllSpec, AnySpec, ConditionSpec, NotSpec
from batchpact.schemas.dtypes import torch_dtypes
from batchpact.schemas.record import FieldSpec, PlaceSpec, Record, SchemaSpec, StageSpec
from batchpact.schemas.shapes import parse_dims

Plain: TypeAlias = dict[str, Any]
"""An object of JSON."""

_FAMILIES = ("Complex", "Float", "Inexact", "Int", "Integer", "Num", "Real", "UInt")


def plain_stage(stage: StageSpec) -> Plain:
    """A stage without its qualified name, which is its key in the file, and without the condition of its place."""
    parts = {"reads": plain_schema(stage.reads), "writes": plain_schema(stage.writes)}
    layouts = stage.model_copy(update={"layouts": tuple(sorted(set(stage.layouts)))})
    return _plain(layouts, qualname=None, when=None, drops=sorted(stage.drops), **parts)


def stage_of(qualname: str, plain: Plain) -> StageSpec:
    """The stage that `plain_stage` made this of."""
    parts = {"reads": schema_of(plain["reads"]), "writes": schema_of(plain["writes"])}
    return StageSpec.model_validate({**plain, "qualname": qualname, **parts})


def plain_schema(schema: SchemaSpec) -> Plain:
    """A schema with its fields by key, and its open columns by attribute; its name and batch axis follow from these."""
    fields = {field.key: _plain_field(field) for field in schema.fields}
    columns = {column.name: _plain_field(column, name=None) for column in schema.columns}
    rules = {rule.name: _plain(rule, name=None) for rule in schema.rules}
    return _plain(schema, name=None, axis=None, fields=fields, columns=columns, rules=rules)


def schema_of(plain: Plain) -> SchemaSpec:
    """The schema that `plain_schema` made this of."""
    fields = [_field_of(key, field) for key, field in sorted(plain.get("fields", {}).items())]
    opened = sorted(plain.get("columns", {}).items())
    columns = [_field_of(column_key(name), {"name": name, **column}) for name, column in opened]
    rules = [{"name": name, **rule} for name, rule in sorted(plain.get("rules", {}).items())]
    dims = [place.dims or "" for field in (*fields, *columns) for place in field.places if place.placement == "tensor"]
    found = {
        "name": plain["qualname"].rpartition(".")[2],
        "axis": parse_dims(dims[0])[0].text if dims else None,
        "fields": fields,
        "columns": columns,
        "rules": rules,
    }
    return SchemaSpec.model_validate({**plain, **found})


def plain_condition(condition: ConditionSpec | None) -> Plain | None:
    """A condition; its kind is told although it has a default, as it says how to read the rest."""
    if condition is None:
        return None
    own: Plain = condition.model_dump(mode="json", exclude_defaults=True) | {"kind": condition.kind}
    if isinstance(condition, NotSpec):
        own["of"] = plain_condition(condition.of)
    elif isinstance(condition, (AllSpec, AnySpec)):
        own["of"] = [plain_condition(part) for part in condition.of]
    return own


def in_order(values: Iterable[Plain]) -> list[Plain]:
    """Values whose order says nothing, in one order."""
    return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def _plain(record: Record, **changed: object) -> Plain:
    """A record without what is at its default, some parts in another form; those that are empty are left out."""
    whole: Plain = record.model_dump(mode="json", exclude_defaults=True, exclude=set(changed))
    return whole | {name: value for name, value in changed.items() if value}


def _plain_field(field: FieldSpec, **changed: object) -> Plain:
    places = in_order(map(_plain_place, field.places))
    rules = in_order(_plain(rule) for rule in field.rules)
    name = field.name if field.name != field.key else None
    parts: Plain = {"key": None, "name": name, "places": places, "rules": rules, "when": plain_condition(field.when)}
    return _plain(field, **parts | changed)


def _field_of(key: str, plain: Plain) -> FieldSpec:
    places = [_place_of(place) for place in plain["places"]]
    return FieldSpec.model_validate({"name": key, **plain, "key": key, "places": places})


def _plain_place(place: PlaceSpec) -> Plain:
    dtypes = [] if _follow_from(place.dtype) == place.dtypes else sorted(place.dtypes)
    return _plain(place, dtypes=dtypes)


def _place_of(plain: Plain) -> PlaceSpec:
    return PlaceSpec.model_validate({"dtypes": _follow_from(plain.get("dtype")), **plain})


def _follow_from(dtype: str | None) -> tuple[str, ...]:
    """The dtypes that a name stands for here: those of a family, or the one of this name."""
    if dtype is None or dtype == "any":
        return ()
    return _families().get(dtype, (dtype,))


@cache
def _families() -> Mapping[str, tuple[str, ...]]:
    """Jaxtyping's families under the names that the record has for them, with the dtypes that torch has."""
    found = {name.lower(): getattr(jaxtyping, name).dtypes for name in _FAMILIES}
    return {name: tuple(dtype for dtype in dtypes if torch_dtypes((dtype,))) for name, dtypes in found.items()}
