"""Two versions of a schema: what changed in it beside its fields."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.lock.fields import Found
from batchpact.contracts.lock.relation import Relation, relation
from batchpact.schemas.keys import key_fields
from batchpact.schemas.record import RowRuleSpec, SchemaSpec
from batchpact.schemas.text import join_names


def changed_schema(old: SchemaSpec, new: SchemaSpec) -> Iterator[Found]:
    """What changed in a schema beside its fields."""
    if old.qualname != new.qualname:
        yield Found("contract-moved", "", old.qualname, new.qualname)
    if old.description != new.description:
        yield Found("description-changed", "", old.description, new.description)
    if old.extra != new.extra:
        yield Found("extra-allowed" if new.extra == "allow" else "extra-forbidden", "", old.extra, new.extra)
    told = _keys(old), _keys(new)
    keys = relation(*told, _key_admits)
    if keys is not Relation.SAME:
        yield Found(f"key-{keys.value}", "", *map(join_names, told))
    before, after = ({rule.name: rule for rule in schema.rules} for schema in (old, new))
    for name in sorted({*before, *after}):
        if name not in after:
            yield Found("row-rule-removed", name, _says(before[name]), "")
        elif name not in before:
            yield Found("row-rule-added", name, "", _says(after[name]))
        elif _method(old, before[name]) != _method(new, after[name]):
            yield Found("row-rule-replaced", name, before[name].qualname, after[name].qualname)
        elif before[name].description != after[name].description:
            yield Found("description-changed", name, before[name].description, after[name].description)


def _keys(schema: SchemaSpec) -> list[str]:
    return [field.key for field in key_fields(schema)]


def _key_admits(wanted: list[str], written: list[str]) -> bool:
    """Whether rows that some fields tell apart are told apart by others: by those and more, or where none has to."""
    return not wanted or (bool(written) and {*written} <= {*wanted})


def _says(rule: RowRuleSpec) -> str:
    return rule.description or rule.qualname


def _method(schema: SchemaSpec, rule: RowRuleSpec) -> str:
    """The method of a rule; one of the schema's own moves with it."""
    return rule.qualname.removeprefix(f"{schema.qualname}.")
