"""A schema class, compiled: its record, its plan, and what only the running program knows of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any

from batchpact.schemas.declared import source_words
from batchpact.schemas.definitions import first_paragraph, qualified_name
from batchpact.schemas.fields import Declared, read_field
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.plan import Plan
from batchpact.schemas.policy_specs import NO_POLICIES, Policies
from batchpact.schemas.record import FieldSpec, SchemaSpec
from batchpact.schemas.rules import rule_spec, rules_of
from batchpact.schemas.shapes import parse_dims

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a schema class carries.

    Attributes:
        spec: the record; every tool reads it.
        plan: the check.
        names: the attribute names of all fields.
        defaults: the default of each optional field, by attribute name, as long as it cannot be changed in place.
        factories: how to make the other defaults anew.
        rules: the rules over several fields, by name.
        homes: each attribute's field, with its placement where it can have only one.
        policies: the policies of each field that has any, by its key in the batch.
        columns: the open columns, by attribute name.
        off: the attribute names of fields that are left out, as their conditions do not hold.
        named: the keys of open columns, by attribute name, where these are known; each is a field then.
    """

    spec: SchemaSpec
    plan: Plan
    names: frozenset[str]
    defaults: Mapping[str, object]
    factories: Mapping[str, Callable[[], object]]
    rules: Mapping[str, Callable[[Any], object]]
    homes: Mapping[str, tuple[FieldSpec, PlacementName | None]]
    policies: Mapping[str, Policies]
    columns: Mapping[str, Declared] = dataclass_field(default_factory=dict)
    off: frozenset[str] = frozenset()
    named: Mapping[str, tuple[str, ...]] = dataclass_field(default_factory=dict)

    @property
    def unnamed(self) -> list[FieldSpec]:
        """The open columns whose names are not known."""
        if not self.columns:
            return []
        return [column.spec for name, column in self.columns.items() if name not in self.named]

    def new_defaults(self) -> dict[str, object]:
        """The defaults of all optional fields, by attribute name; nothing in them is shared."""
        fresh = dict(self.defaults)
        for name, make in self.factories.items():
            fresh[name] = make()
        return fresh


def compile_schema(cls: type[BaseModel]) -> Compiled | list[tuple[str, str]]:
    """Compile a schema class; or return the problems in its declaration, as pairs of field and text."""
    declared: list[Declared] = []
    columns: list[Declared] = []
    problems: list[tuple[str, str]] = []
    for name, info in cls.model_fields.items():
        read, wrong = read_field(name, info)
        problems += [(name, text) for text in wrong]
        if read is not None:
            (declared if read.spec.named_by is None else columns).append(read)
    specs = [field.spec for field in declared]
    problems += _same_key(specs)
    problems += _same_names([column.spec for column in columns])
    axis, wrong_axis = _batch_axis([*specs, *(column.spec for column in columns)])
    problems += wrong_axis
    extra = cls.model_config.get("extra")
    if extra not in ("forbid", "allow"):
        problems.append(("model_config", f"extra={extra!r} is not known; 'forbid' and 'allow' are"))
    if problems:
        return problems
    rules = rules_of(cls)
    spec = SchemaSpec(
        name=cls.__name__,
        qualname=qualified_name(cls),
        description=first_paragraph(cls.__dict__.get("__doc__")),  # pydantic's own and inherited ones do not count
        fields=tuple(specs),
        columns=tuple(column.spec for column in columns),
        rules=tuple(rule_spec(name, method) for name, method in rules.items()),
        extra="allow" if extra == "allow" else "forbid",
        axis=axis,
    )
    optional = [field for field in declared if not field.spec.required]
    return Compiled(
        spec=spec,
        plan=Plan(unanswered(spec), {field.spec.key: field.types for field in declared}),
        names=frozenset(field.spec.name for field in (*declared, *columns)),
        defaults={field.spec.name: field.default for field in optional if field.make is None},
        factories={field.spec.name: field.make for field in optional if field.make is not None},
        rules=rules,
        homes={spec.name: (spec, spec.places[0].placement if len(spec.places) == 1 else None) for spec in specs},
        policies={field.spec.key: field.policies for field in declared if field.policies != NO_POLICIES},
        columns={column.spec.name: column for column in columns},
    )


def unanswered(spec: SchemaSpec) -> SchemaSpec:
    """The schema for somebody who knows nothing about conditions: a field that has one is optional."""
    if all(field.when is None for field in spec.fields):
        return spec
    fields = (field if field.when is None else field.model_copy(update={"required": False}) for field in spec.fields)
    return spec.model_copy(update={"fields": tuple(fields)})


def _same_key(fields: list[FieldSpec]) -> list[tuple[str, str]]:
    seen: dict[str, str] = {}
    problems = []
    for field in fields:
        if field.key in seen:
            problems.append((field.name, f"{seen[field.key]!r} has the same key in the batch, {field.key!r}"))
        seen.setdefault(field.key, field.name)
    return problems


def _same_names(columns: list[FieldSpec]) -> list[tuple[str, str]]:
    """Open columns with the names of others: no name can be both."""
    seen: dict[tuple[str, str], str] = {}
    problems = []
    for column in columns:
        source = column.named_by
        if source is not None:
            other = seen.setdefault((source.source, source.name), column.name)
            if other != column.name:
                problems.append((column.name, f"{source_words(source)} names {other!r}, too; no name can be both"))
    return problems


def _batch_axis(fields: list[FieldSpec]) -> tuple[str | None, list[tuple[str, str]]]:
    """The dim of axis 0, which all tensors of a schema share, and the fields that have another."""
    axis: str | None = None
    first = ""
    problems = []
    for field in fields:
        place = field.place("tensor")
        if place is None or place.dims is None:
            continue
        name = parse_dims(place.dims)[0].text
        if axis is None:
            axis, first = name, field.name
        elif name != axis:
            problems.append(
                (field.name, f"axis 0 is {name!r} here and {axis!r} in {first}; all fields share the batch axis")
            )
    return axis, problems
