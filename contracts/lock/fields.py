"""Two versions of a field: what changed, as the names of rules with what was and what is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from batchpact.contracts.lock.change import Role
from batchpact.contracts.lock.conditions import conditions_relation
from batchpact.contracts.lock.dims import Dims, Label, names_in
from batchpact.contracts.lock.relation import Relation, between, relation
from batchpact.contracts.lock.types import types_relation
from batchpact.contracts.lock.values import values_relation
from batchpact.contracts.proof.comparing import ragged_axis
from batchpact.schemas.condition_specs import ConditionSpec, words
from batchpact.schemas.declared import either, placement_words, type_and_shape
from batchpact.schemas.dtypes import short_name
from batchpact.schemas.markers import PlacementName
from batchpact.schemas.record import FieldSpec, MergeSpec, PlaceSpec, RuleSpec, SchemaSpec
from batchpact.schemas.shapes import parse_dims
from batchpact.schemas.stores import store_of
from batchpact.schemas.values import rule_words

_Places: TypeAlias = "dict[PlacementName, PlaceSpec]"
_WHOLE = ("int", "uint")


class Found(NamedTuple):
    """A rule that applies, to a field or, where there is none, to the whole; and what was and what is."""

    rule: str
    field: str
    before: str
    after: str


class Side(NamedTuple):
    """What is read or written in both versions, with the dims of everything that shares their names."""

    role: Role
    old: SchemaSpec
    new: SchemaSpec
    dims: Dims


def side(role: Role, old: SchemaSpec, new: SchemaSpec, *others: tuple[SchemaSpec, SchemaSpec]) -> Side:
    """Two versions of what is read or written.

    Args:
        role: which of the two it is.
        old: the old version.
        new: the new version.
        others: both versions of what shares dim names with it.
    """
    before: dict[Label, FieldSpec] = {}
    after: dict[Label, FieldSpec] = {}
    for part, (was, now) in enumerate(((old, new), *others)):
        old_fields, new_fields = _by_key(was), _by_key(now)
        keys = {new_key: old_key for old_key, new_key in _renamed(old_fields, new_fields)}
        before.update({(part, key): field for key, field in old_fields.items()})
        after.update({(part, keys.get(key, key)): field for key, field in new_fields.items()})
    return Side(role, old, new, Dims(before, after))


def _by_key(schema: SchemaSpec) -> dict[str, FieldSpec]:
    return {field.key: field for field in schema.fields}


def changed_fields(side: Side) -> Iterator[Found]:
    """What changed in the fields of a schema, in the order of their keys."""
    old, new = _by_key(side.old), _by_key(side.new)
    renamed = dict(_renamed(old, new))
    for key in sorted({*old, *new} - set(renamed.values())):
        before, after = old.get(key), new.get(renamed.get(key, key))
        if before is None and after is not None:
            yield _added(side.role, after)
        elif before is not None and after is None:
            yield _removed(side.role, before)
        elif before is not None and after is not None:
            for found in _changed(side, before, after):
                yield found._replace(field=after.key)
    for before_name, after_name in sorted(side.dims.renamed.items()):
        if _stands_in(before_name, side.old):
            yield Found("dims-renamed", "", before_name, after_name)


def _stands_in(dim: str, schema: SchemaSpec) -> bool:
    texts = (place.dims or "" for field in schema.fields for place in field.places)
    return any(dim in names_in(found) for text in texts for found in parse_dims(text))


# --- presence --------------------------------------------------------------------------------------------------------


def _renamed(old: Mapping[str, FieldSpec], new: Mapping[str, FieldSpec]) -> Iterator[tuple[str, str]]:
    """The keys that were changed under one attribute name."""
    names = {field.name: key for key, field in new.items() if key not in old}
    for key, field in old.items():
        if key not in new and field.name in names:
            yield key, names[field.name]


def _is_argument(field: FieldSpec) -> bool:
    return all(place.placement == "arg" for place in field.places)


def _needed(role: Role, field: FieldSpec) -> bool:
    """Whether somebody has to bring the field; the configuration brings what a reader takes from it."""
    return field.required and (role == "writes" or field.source is None)


def _added(role: Role, field: FieldSpec) -> Found:
    after = _whole(field)
    if not _needed(role, field):
        return Found("optional-field-added", field.key, "", after)
    return Found("argument-added" if _is_argument(field) else "field-added", field.key, "", after)


def _removed(role: Role, field: FieldSpec) -> Found:
    before = _whole(field)
    if _is_argument(field):
        return Found("argument-removed", field.key, before, "")
    kind = "field-removed" if _needed(role, field) else "optional-field-removed"
    return Found(kind, field.key, before, "")


def _whole(field: FieldSpec) -> str:
    """A field in words: where it stands, as what, and what it depends on."""
    text = either(field) if field.required else f"{either(field)}, optional"
    text = text if field.source is None else f"{text}, from {field.source}"
    return text if field.when is None else f"{text}, when {words(field.when)}"


# --- what a field is --------------------------------------------------------------------------------------------------


def _changed(side: Side, old: FieldSpec, new: FieldSpec) -> Iterator[Found]:
    if old.key != new.key:
        yield _found("key-renamed", old.key, new.key)
    elif old.name != new.name:
        yield _found("attribute-renamed", old.name, new.name)
    yield from _presence(side.role, old, new)
    yield from _places(side, old, new)
    yield from _values(old, new)
    yield from _meaning(side.role, old, new)
    yield from _condition(side.role, old, new)
    if old.description != new.description:
        yield _found("description-changed", old.description, new.description)


def _presence(role: Role, old: FieldSpec, new: FieldSpec) -> Iterator[Found]:
    before, after = _needed(role, old), _needed(role, new)
    sources = role != "writes" and (old.source is None) != (new.source is None)
    if before != after and not sources:
        words_of = ("required", "optional")
        yield _found(
            "field-became-required" if after else "field-became-optional",
            *(words_of if before else reversed(words_of)),
        )
    elif _default(old) != _default(new):
        yield _found("default-changed", _default(old), _default(new))


def _default(field: FieldSpec) -> str:
    return "none" if field.required else repr(field.default)


def _by_placement(field: FieldSpec) -> _Places:
    return {place.placement: place for place in field.places}


def _by_store(places: _Places) -> _Places:
    return {store_of(placement): place for placement, place in places.items()}


def _places(side: Side, old: FieldSpec, new: FieldSpec) -> Iterator[Found]:
    before, after = _by_placement(old), _by_placement(new)
    if ("tag" in before) != ("tag" in after) and ("non_tensor" in before) != ("non_tensor" in after):
        yield _found("tag-moved", placement_words(old), placement_words(new))
        before, after = _by_store(before), _by_store(after)
    kind = between(narrows=after.keys() <= before.keys(), widens=before.keys() <= after.keys())
    if kind is not Relation.SAME:
        yield _found(f"place-{kind.value}", placement_words(old), placement_words(new))
    for placement in sorted(before.keys() & after.keys()):
        was, now = before[placement], after[placement]
        if placement == "tensor":
            yield from _tensor(side, old.key, was, now)
            continue
        types = types_relation(_type(old, was), _type(new, now))
        if types is not Relation.SAME:
            yield _found(f"type-{types.value}", _type(old, was), _type(new, now))


def _type(field: FieldSpec, place: PlaceSpec) -> str:
    """The type of a value, None among it where a meta value or an argument may be None."""
    optional = field.nullable and place.placement in ("meta", "arg")
    text = place.type or "Any"
    return f"{text} | None" if optional and "None" not in text.split(" | ") else text


def _tensor(side: Side, key: str, old: PlaceSpec, new: PlaceSpec) -> Iterator[Found]:
    dtypes = relation(
        old.dtypes, new.dtypes, lambda wanted, written: not wanted or (bool(written) and {*written} <= {*wanted})
    )
    if dtypes is not Relation.SAME:
        yield _found(f"dtype-{dtypes.value}", short_name(old.dtype or "any"), short_name(new.dtype or "any"))
    if old.layout != new.layout or ragged_axis(old) != ragged_axis(new):
        yield _found("layout-replaced", type_and_shape(old), type_and_shape(new))
    label: Label = (0, key)
    shapes = side.dims.relation(label)
    if shapes is not Relation.SAME:
        yield _found(f"dims-{shapes.value}", f'"{old.dims}"', f'"{new.dims}"')
    elif not side.dims.follows(label):
        yield _found("dims-renamed", f'"{old.dims}"', f'"{new.dims}"')


def _values(old: FieldSpec, new: FieldSpec) -> Iterator[Found]:
    kind = values_relation(old.rules, new.rules, whole=_is_whole(old) and _is_whole(new))
    if kind is not Relation.SAME:
        yield _found(f"values-{kind.value}", _rules(old.rules), _rules(new.rules))
    if old.same_as != new.same_as:
        if old.same_as is not None:
            yield _found("twin-removed", f"same as {old.same_as}", "")
        if new.same_as is not None:
            yield _found("twin-declared", "", f"same as {new.same_as}")
    if {old.role, new.role} == {"group", None}:
        yield _found("group-changed", old.role or "", new.role or "")


def _is_whole(field: FieldSpec) -> bool:
    """Whether all values of a field are whole numbers."""
    return all(
        place.type == "int"
        or (
            place.placement == "tensor"
            and bool(place.dtypes)
            and all(dtype.startswith(_WHOLE) for dtype in place.dtypes)
        )
        for place in field.places
    )


def _rules(rules: Sequence[RuleSpec]) -> str:
    return ", ".join(map(rule_words, rules))


def _meaning(role: Role, old: FieldSpec, new: FieldSpec) -> Iterator[Found]:
    if old.source != new.source:
        yield _found(_source_rule(old, new), old.source or "", new.source or "")
    if (old.merge or MergeSpec()) != (new.merge or MergeSpec()):
        yield _found("merge-changed", _merge(old.merge), _merge(new.merge))
    if old.pad != new.pad:
        pads = ("" if pad is None else f"{pad.value!r} on the {pad.side}" for pad in (old.pad, new.pad))
        yield _found("pad-added" if old.pad is None else "pad-changed", *pads)
    if old.fill != new.fill:
        fills = ("" if fill is None else repr(fill.value) for fill in (old.fill, new.fill))
        yield _found("fill-added" if old.fill is None else "fill-changed", *fills)


def _source_rule(old: FieldSpec, new: FieldSpec) -> str:
    if old.source is not None:
        return "source-changed" if new.source is not None else "source-removed"
    return "source-added" if _is_argument(new) else "source-ties-meta"


def _merge(merge: MergeSpec | None) -> str:
    told = {} if merge is None else merge.model_dump(exclude={"how"}, exclude_none=True)
    more = ", ".join(f"{name}={value}" for name, value in told.items())
    how = (merge or MergeSpec()).how
    return f"{how}({more})" if more else how


def _condition(role: Role, old: FieldSpec, new: FieldSpec) -> Iterator[Found]:
    kind = conditions_relation(old.when, new.when)
    if kind is Relation.SAME:
        return
    needed = _needed(role, old) or _needed(role, new)
    rule = f"condition-{kind.value}" if needed else "optional-condition-changed"
    yield _found(rule, _when(old.when), _when(new.when))


def _when(condition: ConditionSpec | None) -> str:
    return "always" if condition is None else f"when {words(condition)}"


def _found(rule: str, before: str, after: str) -> Found:
    return Found(rule, "", before, after)
