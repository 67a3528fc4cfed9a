"""Python types of meta values and object cells: a cheap look at the outer class, and a full look inside."""

from __future__ import annotations

import types
import typing
from functools import lru_cache
from typing import Annotated, Any, Literal, NewType, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from typing_extensions import TypeAliasType, is_typeddict

# `type X = ...` makes an alias of `typing`, which is another class than the one of typing_extensions.
_ALIASES = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))


def is_alias(live: object) -> TypeGuard[TypeAliasType]:
    """Whether this is a named alias, by either spelling."""
    return isinstance(live, _ALIASES)


def outer_classes(live: object) -> tuple[type, ...] | None:
    """The classes that a value of this type can have, for `isinstance`; None where every value is admitted.

    Only the outside is looked at: `list[int]` gives `list`. An int counts as a float, as everywhere in Python.
    """
    origin = get_origin(live)
    if live is None or live is type(None):
        return (type(None),)
    if live is float:
        return (float, int)
    if live is complex:
        return (complex, float, int)
    if origin is Annotated:
        return outer_classes(get_args(live)[0])
    if is_alias(live):
        return outer_classes(live.__value__)
    if isinstance(live, NewType):
        return outer_classes(live.__supertype__)
    if origin is Literal:
        return tuple({type(value) for value in get_args(live)})
    if origin in (Union, types.UnionType):
        members = [outer_classes(member) for member in get_args(live)]
        known = [member for member in members if member is not None]
        return None if len(known) < len(members) else tuple(cls for member in known for cls in member)
    if is_typeddict(live):
        return (dict,)
    if isinstance(origin, type):
        return (origin,)
    if live is Any or live is object or isinstance(live, TypeVar) or not isinstance(live, type):
        return None
    if getattr(live, "_is_protocol", False):
        return None
    return (live,)


def mismatch(live: object, value: object) -> str | None:
    """What is wrong inside `value` under the type `live`, in words, or None. Nothing is coerced.

    The full look is pydantic's in strict mode.
    """
    adapter = _adapter(live)
    if adapter is None:
        return None
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])
        return f"{place} {first['msg']}".strip() if place else str(first["msg"])
    except TypeError as error:  # pydantic's, for a bound that cannot be compared with this value
        return str(error)
    return None


def _adapter(live: object) -> TypeAdapter[Any] | None:
    try:
        return _cached_adapter(live)
    except TypeError:  # an unhashable type, such as Literal[[...]]
        return _new_adapter(live)


def _new_adapter(live: object) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter[Any](live, config=ConfigDict(arbitrary_types_allowed=True))  # type: ignore[arg-type]
    except PydanticUserError:  # a type that brings a configuration of its own, such as a dataclass
        pass
    try:
        return TypeAdapter[Any](live)  # type: ignore[arg-type]
    except PydanticUserError:  # typing.TypedDict before Python 3.12
        return None


_cached_adapter = lru_cache(maxsize=1024)(_new_adapter)
