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
from batchpact.schemas.describe import describe
from batchpact.schemas.markers import Binary, Finite, From, Name, PlacementName, SameAs, When
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
    if when is not None and when.spec is None:
        problems.append("When(...) takes a condition, as in When(config('algorithm.use_kl_in_reward'))")
    if twin is not None and twin.key == (name if key is None else key.key):
        problems.append(f"SameAs({twin.key!r}) names the field itself")
    spec = FieldSpec(
        name=name,
        key=name if key is None else key.key,
        places=tuple(reading.places),
        required=required,
        nullable=reading.nullable,
        default=as_json(default),
        description=" ".join((info.description or reading.description or "").split()),
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
