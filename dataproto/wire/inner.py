"""Tensors and arrays inside cells and meta, at any depth: they travel as their bytes, too.

Pickle alone would have torch save each of them into a file of its own in memory, and leave arrays that came through
Ray read-only, which would also hold the whole object in the store. So what holds some is sent as a copy of its dicts,
lists and tuples, in which they are exchanged. In objects of other classes they are left to pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
from torch import Tensor

from batchpact.dataproto.wire.packing import Form, Packing, is_bytes, is_plain
from batchpact.dataproto.wire.transport import Transport, asked
from batchpact.dataproto.wire.unpacking import Unpacking

_ARRAYS = {Tensor, np.ndarray}


class Inner:
    """Stands in a cell, or in meta, for a tensor or an array, and is one where it arrives."""

    __slots__ = ("_asked", "_value")

    def __init__(self, value: Tensor | np.ndarray, asked: Transport) -> None:
        self._value, self._asked = value, asked

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., object], tuple[Form, bool | None]]:
        packing = Packing(int(protocol))
        form = packing.tensor(self._value) if isinstance(self._value, Tensor) else packing.array(self._value)
        return receive_inner, (form, self._asked.zero_copy)


def receive_inner(form: Form, zero_copy: bool | None) -> object:
    """The tensor or the array of this form, on the CPU.

    Raises:
        BatchError: if this is no such form.
    """
    unpacking = Unpacking(copied=not Transport(asked().zero_copy).within(Transport(zero_copy)).zero_copy)
    if form and form[0] == "array":
        return unpacking.array("a value", form)
    return unpacking.tensor("a value", form)


class Exchange:
    """Exchanges the tensors and arrays in values; what stands in several places is one object afterwards, too."""

    def __init__(self, asked: Transport) -> None:
        self._asked = asked
        self._made: dict[int, object] = {}

    def of_dict(self, values: dict[str, Any]) -> dict[str, Any]:
        """These values, which stay as they are; the same dict if there is nothing to exchange."""
        if not hold_arrays(values.values()):
            return values
        return {key: self._exchanged(value) for key, value in values.items()}

    def of_list(self, values: list[Any]) -> list[Any]:
        """The same for a list."""
        return [self._exchanged(value) for value in values] if hold_arrays(values) else values

    def _exchanged(self, value: Any) -> Any:
        kind = type(value)
        if kind not in _ARRAYS and not _is_container(kind):
            return value
        known = self._made.get(id(value))
        if known is not None:
            return known
        made: Any
        if kind is dict:
            made = self._made[id(value)] = {}
            made.update((key, self._exchanged(held)) for key, held in value.items())
            return made
        if kind is list:
            made = self._made[id(value)] = []
            made.extend(self._exchanged(held) for held in value)
            return made
        if kind in _ARRAYS:
            bare = is_plain(value) if kind is Tensor else is_bytes(value)
            made = Inner(value, self._asked) if bare else value
        else:
            held = [self._exchanged(held) for held in value]
            made = tuple(held) if kind is tuple else kind._make(held)
        # A tuple that holds a list that holds the tuple has been made on the way.
        return self._made.setdefault(id(value), made)


def hold_arrays(values: Iterable[Any]) -> bool:
    """Whether there is a tensor or an array among these values, or in the dicts, lists and tuples that they hold."""
    seen: set[int] = set()
    level = list(values)
    while level:
        kinds = set(map(type, level))
        if not kinds.isdisjoint(_ARRAYS):
            return True
        containers = {kind for kind in kinds if _is_container(kind)}
        if not containers:
            return False
        fresh = {id(value): value for value in level if type(value) in containers and id(value) not in seen}
        seen.update(fresh)
        level = [*chain.from_iterable(held.values() if type(held) is dict else held for held in fresh.values())]
    return False


def _is_container(kind: type[Any]) -> bool:
    return kind is dict or kind is list or (issubclass(kind, tuple) and (kind is tuple or hasattr(kind, "_make")))
