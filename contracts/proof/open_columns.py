"""Open columns in a proof: what a source of names calls columns is one field, whatever the names will be.

A stage that reads such columns finds those that another has written under the same source, or whatever a stage with
`extra="allow"` has. What names them is read, too. Where one configuration is looked at and it names columns, each is a
field of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from batchpact.schemas.columns import Names, field_name, names_in
from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.declared import source_words
from batchpact.schemas.record import FieldSpec, PlaceSpec, SchemaSpec, StageSpec

LookUp: TypeAlias = "Callable[[SubjectSpec], object] | None"
"""What one configuration says; None where all of them are looked at."""


def columns_key(column: FieldSpec) -> str:
    """What a proof calls the columns of a source of names; the key of any other field."""
    return column.key if column.named_by is None else f"columns named by {source_words(column.named_by)}"


def told_by(schema: SchemaSpec, look_up: LookUp) -> dict[str, Names]:
    """The names that a configuration has for open columns, by attribute, or why nobody can tell them."""
    if look_up is None:
        return {}
    asked = (c for c in schema.columns if c.named_by is not None and c.named_by.source == "config")
    return names_in(schema, asked, look_up)


def with_columns(schema: SchemaSpec, look_up: LookUp) -> SchemaSpec:
    """A schema with its open columns among its fields."""
    if not schema.columns:
        return schema
    told = told_by(schema, look_up)
    columns = (field for column in schema.columns for field in _fields(column, told.get(column.name)))
    return schema.model_copy(update={"fields": (*schema.fields, *columns)})


def _fields(column: FieldSpec, names: Names | None) -> Iterator[FieldSpec]:
    """What stands for some open columns: one field, or one for each name that is known."""
    if names is None:
        yield column.model_copy(update={"key": columns_key(column), "named_by": None})
    elif isinstance(names, tuple):
        for key in names:
            yield column.model_copy(update={"name": field_name(column.name, key), "key": key})


def fields_of(schema: SchemaSpec, declared: FieldSpec) -> list[FieldSpec]:
    """What stands in a schema `with_columns` for a field that is declared, or for open columns."""
    return [field for field in schema.fields if field.name.partition("[")[0] == declared.name]


def with_names(stage: StageSpec, look_up: LookUp) -> StageSpec:
    """A stage with its open columns among its fields, and with what names them among what it reads."""
    if not (stage.reads.columns or stage.writes.columns):
        return stage
    reads = with_columns(stage.reads, look_up)
    reads = reads.model_copy(update={"fields": (*_names_read(stage), *reads.fields)})
    return stage.model_copy(update={"reads": reads, "writes": with_columns(stage.writes, look_up)})


def _names_read(stage: StageSpec) -> Iterator[FieldSpec]:
    """The meta in which a stage looks for names, as far as it neither declares nor writes it."""
    found: set[str] = set()
    for schema in (stage.reads, stage.writes):
        for column in schema.columns:
            source = column.named_by
            if source is None or source.source != "meta" or source.name in found:
                continue
            if stage.reads.field(source.name) or (schema is stage.writes and schema.field(source.name)):
                continue
            found.add(source.name)
            anything = (PlaceSpec(placement="meta", type="Any"),)
            needed = source.default is None
            yield FieldSpec(name=source.name, key=source.name, places=anything, required=needed, when=column.when)


def named_in(stage: StageSpec, key: str) -> str:
    """Which open columns of a stage a meta field names, in words; empty for none."""
    columns = (*stage.reads.columns, *stage.writes.columns)
    names = dict.fromkeys(
        column.name
        for column in columns
        if column.named_by is not None and (column.named_by.source, column.named_by.name) == ("meta", key)
    )
    return f"it names the columns {', '.join(names)}" if names else ""


def has_key(schema: SchemaSpec, key: str) -> bool:
    """Whether a schema has a field of this key, or open columns that a proof calls so."""
    return schema.field(key) is not None or any(columns_key(column) == key for column in schema.columns)
