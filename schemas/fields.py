"""From a pydantic field to a `FieldSpec`, with everything that is wrong in the declaration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from annotated_types import Ge, Gt, Le, Lt
from pydantic import JsonValue, Strict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from batchpact.schemas.annotations import Reading, read_annotation, type_name
from batchpact.schemas.bounds import BOUNDS
from batchpact.schemas.columns import NamedBy, column_key
from batchpact.schemas.condition_specs import SubjectSpec
from batchpact.schemas.conditions import Condition
from batchpact.schemas.describe import describe
from batchpact.schemas.markers import Binary, Finite, From, Name, PlacementName, SameAs, When
from batchpact.schemas.policies import Fill, Group, Key
from batchpact.schemas.policy_specs import NO_POLICIES, Policies, policy_problems
from batchpact.schemas.python_types import outer_classes
from batchpact.schemas.record import FieldSpec, RuleSpec, named

_IMMUTABLE = (type(None), bool, int, float, str, bytes, tuple, frozenset)
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True, slots=True)
class Declared:
    """A field with what only the running program knows of it: its Python types and its default value.

    `make` gives the default anew where one object cannot serve every instance.
    """

    spec: FieldSpec
    types: dict[PlacementName, object]
    default: object = None
    make: Callable[[], object] | None = None
    policies: Policies = NO_POLICIES


def read_field(name: str, info: FieldInfo) -> tuple[Declared | None, list[str]]:
    """One field of a schema class and the problems in it; no field where nothing usable is declared."""
    reading = read_annotation(info.annotation, [*info.metadata, *_alias_of(info)])
    problems = list(reading.problems)
    naming = info.default if isinstance(info.default, NamedBy) else None
    if reading.columns or naming is not None:
        return _read_columns(name, info, reading, naming)
    required = info.is_required()
    make = partial(info.get_default, call_default_factory=True, validated_data={})
    default = None if required else make()
    if not reading.places:
        return None, problems or ["it has no placement beside None"]
    problems += _default_problems(reading, required, default)
    problems += _bound_problems(reading)
    source = reading.marker(From)
    if source is not None and not any(place.placement in ("arg", "meta") for place in reading.places):
        problems.append("From(...) fills arguments and meta fields; rows do not come from the configuration")
    if source is not None and not source.path:
        problems.append("From('') names nothing; it is a path such as From('algorithm.gamma')")
    rules = tuple(_rules(reading))
    wrong_policies = list(policy_problems(reading, rules, required=required))
    problems += wrong_policies
    policies = NO_POLICIES if wrong_policies else Policies.of(reading)
    key, when, twin = reading.marker(Name), reading.marker(When), reading.marker(SameAs)
    problems += _condition_problems(when)
    if twin is not None and twin.key == (name if key is None else key.key):
        problems.append(f"SameAs({twin.key!r}) names the field itself")
    spec = FieldSpec(
        name=name,
        key=name if key is None else key.key,
        places=tuple(reading.places),
        required=required,
        nullable=reading.nullable,
        default=as_json(default),
        description=_description(info, reading),
        rules=rules,
        source=None if source is None else source.path,
        merge=policies.merge_spec(),
        pad=policies.pad_spec(),
        fill=policies.fill_spec(),
        role=policies.role,
        when=None if when is None else when.spec,
        same_as=None if twin is None else twin.key,
    )
    fixed = isinstance(default, _IMMUTABLE) and info.default_factory is None
    return Declared(spec, reading.types, default, None if fixed else make, policies), problems


def _read_columns(
    name: str, info: FieldInfo, reading: Reading, naming: NamedBy | None
) -> tuple[Declared | None, list[str]]:
    """Open columns: what each of them is, and where their names stand."""
    problems = [*reading.problems, *_naming_problems(info, reading, naming)]
    if not reading.places or naming is None:
        return None, problems
    rules, when = tuple(_rules(reading)), reading.marker(When)
    wrong_policies = list(policy_problems(reading, rules, required=False))
    problems += [*_bound_problems(reading), *wrong_policies, *_condition_problems(when)]
    if reading.marker(Fill) is not None and not naming.optional:
        problems.append("Fill(...) is for columns that may be absent: named_by(..., optional=True)")
    policies = NO_POLICIES if wrong_policies else Policies.of(reading)
    subject = getattr(naming.subject, "subject", None)
    spec = FieldSpec(
        name=name,
        key=column_key(name),
        places=tuple(reading.places),
        required=not naming.optional,
        description=_description(info, reading),
        rules=rules,
        merge=policies.merge_spec(),
        pad=policies.pad_spec(),
        fill=policies.fill_spec(),
        when=None if when is None else when.spec,
        named_by=subject,
    )
    return Declared(spec, reading.types, policies=policies), problems


def _naming_problems(info: FieldInfo, reading: Reading, naming: NamedBy | None) -> Iterable[str]:
    if not reading.columns:
        yield "named_by(...) names columns, and this is one field; write Columns[...] around what each of them is"
        return
    for marker in (Name, Key, Group, From, SameAs):
        if reading.marker(marker) is not None:
            yield f"{marker.__name__}(...) is for one field, and these columns are as many as there are names"
    if naming is None:
        yield f'nothing says what the columns are called; write = named_by(meta("...")) behind it{_instead(info)}'
        return
    subject = getattr(naming.subject, "subject", None)
    source = subject.source if isinstance(subject, SubjectSpec) else ""
    if source not in ("meta", "config"):
        shown = f"named_by({naming.subject!r})" if isinstance(naming.subject, str) else f"named_by of {_shown(naming)}"
        way = f"meta({naming.subject!r})" if isinstance(naming.subject, str) else 'meta("...") or config("...")'
        yield f"{shown}: names stand in meta or in the configuration, as named_by({way}) says"
    elif isinstance(subject, SubjectSpec) and not _is_names(subject.default):
        yield f"default={subject.default!r} is no list of names; without names it is default=[]"


def _instead(info: FieldInfo) -> str:
    """What stands where `named_by` belongs."""
    default = info.default
    if info.is_required():
        return ""
    if isinstance(default, tuple) and any(isinstance(part, NamedBy) for part in default):
        return ", without the trailing comma"
    return f", not {_words(default)}"


def _words(value: object) -> str:
    return f"{value} by itself" if isinstance(value, Condition) else describe(value)


def _shown(naming: NamedBy) -> str:
    if isinstance(naming.subject, Condition):
        return f"the condition {naming.subject}" if not hasattr(naming.subject, "subject") else str(naming.subject)
    return describe(naming.subject)


def _is_names(default: JsonValue) -> bool:
    return default is None or (isinstance(default, list) and all(isinstance(name, str) for name in default))


def _condition_problems(when: When | None) -> Iterable[str]:
    if when is not None and when.spec is None:
        yield "When(...) takes a condition, as in When(config('algorithm.use_kl_in_reward'))"


def _description(info: FieldInfo, reading: Reading) -> str:
    return " ".join((info.description or reading.description or "").split())


def _alias_of(info: FieldInfo) -> Iterable[FieldInfo]:
    # pydantic merges alias= into the FieldInfo itself; handing it on lets one place judge both spellings.
    return [] if info.alias is None else [FieldInfo(alias=info.alias)]


def _default_problems(reading: Reading, required: bool, default: object) -> Iterable[str]:
    placements: set[PlacementName] = {place.placement for place in reading.places}
    if isinstance(default, tuple) and any(isinstance(part, FieldInfo) for part in default):
        yield "the default is a tuple: a trailing comma after Field(...)?"
        return
    if default is PydanticUndefined:
        return
    if reading.nullable and required:
        yield "'| None' without '= None' is still required; give it a default, or leave '| None' out"
    if (
        not required
        and default is not None
        and placements & {"tensor", "non_tensor", "tag"}
        and not placements & {"meta", "arg"}
    ):
        yield f"a field with one value per row cannot have a default value ({default!r}); optional is '| None = None'"
    if default is not None:
        for place in reading.places:
            live = reading.types.get(place.placement)
            classes = outer_classes(live) if place.placement in ("meta", "arg") else None
            if classes is not None and not isinstance(default, classes):
                yield f"the default is {describe(default)}, and the type is {type_name(live)}"
    if not required and default is None and not reading.nullable:
        yield "the default is None and the type does not say so; write '| None = None'"


def _bound_problems(reading: Reading) -> Iterable[str]:
    tensor = any(place.placement == "tensor" for place in reading.places)
    for bound in reading.bounds:
        limits = [getattr(bound, word, 0) for word in BOUNDS]
        if not isinstance(bound, (Ge, Gt, Le, Lt, Strict)):
            yield f"{bound!r} would not be checked; the bounds are ge, gt, le and lt"
        elif any(isinstance(limit, float) and not math.isfinite(limit) for limit in limits):
            yield f"{bound!r} is no limit; Finite() says that a value is finite"
        elif tensor and not all(isinstance(limit, (int, float)) for limit in limits):
            yield f"{bound!r} cannot be compared with the elements of a tensor"


def as_json(value: object) -> JsonValue:
    """A default as the record holds it: as JSON, or by its type."""
    try:
        return named(_JSON.validate_python(value, strict=True))
    except ValidationError:
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _rules(reading: Reading) -> Iterable[RuleSpec]:
    for marker in reading.markers:
        if isinstance(marker, (Finite, Binary)):
            yield RuleSpec(kind=type(marker).__name__.lower())
    for bound in reading.bounds:
        for word, kind in BOUNDS.items():
            if isinstance(bound, kind):
                yield RuleSpec(kind=word, value=as_json(getattr(bound, word)))
