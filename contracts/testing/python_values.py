"""Values of Python types, as object cells and meta hold them: drawn at random, and held against the product's check."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

import annotated_types as at
import numpy as np
import torch
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typing_extensions import NotRequired, Required, is_typeddict

from batchpact.contracts.testing.numbers import integer_range, reals
from batchpact.contracts.testing.unmeetable import Unmeetable
from batchpact.dataproto.preview import one_line
from batchpact.schemas.annotations import type_name
from batchpact.schemas.bounds import BOUNDS, bounded
from batchpact.schemas.python_types import is_alias, mismatch
from batchpact.schemas.record import RuleSpec
from batchpact.schemas.text import join_names
from batchpact.schemas.values import rule_words

_TRIES = 50
_DEEP = 4
"""How far containers and None nest before they stay empty, so that a model that holds its own kind comes to an end."""
_BOTTOMLESS = 20
"""How deep a class may stand in others before it is one that cannot come to an end."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SCALARS: tuple[type, ...] = (int, str, float, bool)


def python_value(live: object, rules: Sequence[RuleSpec], rng: np.random.Generator, many: int = 100) -> Any:
    """A value of a Python type that keeps to the rules of its field.

    Args:
        live: the type.
        rules: the rules of the field.
        rng: what decides.
        many: how many integers there are where the rules leave infinitely many.

    Raises:
        Unmeetable: if no value was found.
    """
    full = bounded(live, rules)
    for _ in range(_TRIES):
        value = _Maker(rng, many).make(live, tuple(rules), 0)
        if mismatch(full, value) is None:
            return value
    words = "" if not rules else f" that is {join_names([rule_words(rule) for rule in rules])}"
    raise Unmeetable(f"no {type_name(live)}{words} was found")


class _Maker:
    """Makes one value."""

    def __init__(self, rng: np.random.Generator, many: int) -> None:
        self._rng = rng
        self._many = many

    def make(self, live: object, limits: tuple[Any, ...], depth: int) -> Any:
        """A value of a type. `limits` are rules of the field, and constraints that stand in the type."""
        origin, args = get_origin(live), get_args(live)
        if live is None or live is type(None):
            return None
        if live is Any or live is object or isinstance(live, TypeVar):
            return self.make(_SCALARS[self._below(len(_SCALARS))], limits, depth)
        if origin is Annotated:
            return self.make(args[0], (*limits, *_constraints(args[1:])), depth)
        if origin in (Required, NotRequired):
            return self.make(args[0], limits, depth)
        if is_alias(live):
            return self.make(live.__value__, limits, depth)
        if isinstance(live, NewType):
            return self.make(live.__supertype__, limits, depth)
        if origin is Literal:
            return args[self._below(len(args))]
        if origin in (Union, types.UnionType):
            if depth >= _DEEP and types.NoneType in args:
                return None
            return self.make(args[self._below(len(args))], limits, depth)
        if isinstance(origin, type):
            return self._container(origin, args, limits, depth)
        if isinstance(live, type):
            return self._instance(live, limits, depth)
        raise Unmeetable(f"nothing says how a {type_name(live)} is made")

    def _below(self, number: int) -> int:
        return int(self._rng.integers(number))

    def _instance(self, live: type, limits: tuple[Any, ...], depth: int) -> Any:
        if is_typeddict(live):
            return self._typed_dict(live, depth)
        if issubclass(live, Enum):
            members = list(live)
            if not members:
                raise Unmeetable(f"{type_name(live)} has no members")
            return members[self._below(len(members))]
        if live is bool:
            return bool(self._below(2))
        if issubclass(live, BaseModel):
            return self._model(live, depth)
        if dataclasses.is_dataclass(live):
            return self._dataclass(live, depth)
        if issubclass(live, tuple) and hasattr(live, "_fields"):
            hints = get_type_hints(live, include_extras=True)
            named: Any = live
            return named(*(self.make(hints.get(name, Any), (), depth + 1) for name in named._fields))
        if issubclass(live, (list, tuple, set, frozenset, dict)):
            return self._container(live, (), limits, depth)
        return self._scalar(live, limits)

    def _scalar(self, live: type, limits: tuple[Any, ...]) -> Any:
        rules = [limit for limit in limits if isinstance(limit, RuleSpec)]
        if issubclass(live, (int, np.integer)):
            return live(self._integer(rules, _multiple(limits)))
        if issubclass(live, (float, np.floating)):
            return live(self._real(rules, _multiple(limits)))
        if issubclass(live, complex):
            return live(*map(float, reals(rules, (2,), self._rng)))
        if issubclass(live, str):
            return live("".join(_LETTERS[self._below(26)] for _ in range(self._length(limits, 3, 8))))
        if issubclass(live, bytes):
            return live(self._below(256) for _ in range(self._length(limits, 1, 4)))
        if issubclass(live, np.ndarray):
            return reals(rules, (2,), self._rng).astype(np.float32)
        if issubclass(live, torch.Tensor):
            return torch.from_numpy(reals(rules, (2,), self._rng)).to(torch.float32)
        raise Unmeetable(f"nothing says how a {type_name(live)} is made")

    def _integer(self, rules: Sequence[RuleSpec], multiple: float | None) -> int:
        low, high = integer_range(rules, many=self._many)
        if multiple is None:
            return int(self._rng.integers(low, high, endpoint=True))
        first, last = -(-low // int(multiple)), high // int(multiple)
        if first > last:
            raise Unmeetable(f"no integer from {low} to {high} is a multiple of {multiple}")
        return int(multiple) * int(self._rng.integers(first, last, endpoint=True))

    def _real(self, rules: Sequence[RuleSpec], multiple: float | None) -> float:
        value = float(reals(rules, (1,), self._rng)[0])
        return value if multiple is None else round(value / multiple) * multiple

    def _length(self, limits: tuple[Any, ...], fewest: int, most: int) -> int:
        for limit in limits:
            if isinstance(limit, at.MinLen):
                fewest, most = max(fewest, limit.min_length), max(most, limit.min_length)
            elif isinstance(limit, at.MaxLen):
                fewest, most = min(fewest, limit.max_length), min(most, limit.max_length)
        return int(self._rng.integers(fewest, most, endpoint=True))

    def _container(self, origin: type, args: tuple[Any, ...], limits: tuple[Any, ...], depth: int) -> Any:
        if issubclass(origin, tuple) and args and Ellipsis not in args:
            return tuple(self.make(arg, (), depth + 1) for arg in args if arg != ())
        if not (issubclass(origin, (Mapping, Set, tuple, np.ndarray)) or issubclass(list, origin)):
            raise Unmeetable(f"nothing says how a {type_name(origin)} is made")
        inner = [arg for arg in args if arg is not Ellipsis] or [Any, Any]
        length = 0 if depth >= _DEEP else self._length(limits, 1, 3)
        if issubclass(origin, Mapping):
            key, value = inner[0] if args else str, inner[-1]
            made = {self.make(key, (), depth + 1): self.make(value, (), depth + 1) for _ in range(length)}
            return origin(made) if issubclass(origin, dict) else made
        items = [self.make(inner[0], (), depth + 1) for _ in range(length)]
        if issubclass(origin, Set):
            return (frozenset if issubclass(origin, frozenset) else set)(items)
        if issubclass(origin, np.ndarray):
            return np.array(items)
        if issubclass(origin, tuple):
            return tuple(items)
        return items  # of a list, Sequence, Iterable, Collection

    def _typed_dict(self, live: Any, depth: int) -> dict[str, Any]:
        hints = get_type_hints(live, include_extras=True)
        kept = [name for name in hints if name in live.__required_keys__ or self._below(2)]
        return {name: self.make(hints[name], (), depth + 1) for name in kept}

    def _dataclass(self, live: Any, depth: int) -> Any:
        hints = get_type_hints(live, include_extras=True)
        fields = [field for field in dataclasses.fields(live) if field.init]
        return self._accepted(live, lambda: {f.name: self.make(hints[f.name], (), depth + 1) for f in fields}, depth)

    def _model(self, live: type[BaseModel], depth: int) -> BaseModel:
        def draw() -> dict[str, Any]:
            return {
                info.alias or name: self.make(info.annotation, (*_constraints(info.metadata),), depth + 1)
                for name, info in live.model_fields.items()
                if info.is_required() or depth < _DEEP
            }

        made: BaseModel = self._accepted(live, draw, depth)
        return made

    def _accepted(self, live: Any, draw: Callable[[], dict[str, Any]], depth: int) -> Any:
        """An instance of a class that may refuse what was drawn for its fields."""
        if depth > _BOTTOMLESS:
            raise Unmeetable(f"a {type_name(live)} always holds another one")
        refused: Exception | None = None
        for _ in range(_TRIES):
            values = draw()
            try:
                return live(**values)
            except Exception as error:  # a user's own code may refuse in any way
                refused = error
        raise Unmeetable(f"no {type_name(live)} was found that it accepts: {one_line(str(refused), 100)}")


def _constraints(metadata: Sequence[object]) -> list[object]:
    """The constraints among the metadata of a type: bounds as rules, and those on lengths and multiples as they are."""
    found: list[object] = []
    for item in metadata:
        if isinstance(item, at.GroupedMetadata):
            found += _constraints(list(item))
        elif isinstance(item, (at.MinLen, at.MaxLen, at.MultipleOf)):
            found.append(item)
        elif isinstance(item, FieldInfo):
            found += _constraints(item.metadata)
        else:
            kinds = [word for word, kind in BOUNDS.items() if isinstance(item, kind)]
            found += [RuleSpec(kind=word, value=getattr(item, word)) for word in kinds]
    return found


def _multiple(limits: tuple[Any, ...]) -> float | None:
    found = (limit.multiple_of for limit in limits if isinstance(limit, at.MultipleOf))
    return next((multiple for multiple in found if isinstance(multiple, (int, float))), None)
