"""What a stage was not handed is known: stores that answer a look at such a name with its violation, never with False.

A handed-out batch has these stores in place of ordinary ones. A name that is not
there is shown to the `Withheld` before it counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, KeysView, Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

import torch
from tensordict import TensorDict, TensorDictBase

from batchpact.schemas.describe import describe_in_store
from batchpact.schemas.errors import ContractError, UndeclaredReadError
from batchpact.schemas.stores import Stores
from batchpact.schemas.violations import Violation, Where

V = TypeVar("V")
_MISSING = object()


class Elsewhere(NamedTuple):
    """Stands for a value that another process holds, in its words."""

    text: str


class Withheld:
    """The names that the caller's batch holds and a stage does not declare.

    Args:
        stage: the name of the stage, for the message.
        declared: the keys that the stage reads or writes.
        stores: the caller's stores, fetched when somebody looks.
        report: where undeclared reads are reported instead of raised, with `project="record"`.
        off: fields that the stage does not read in this configuration, each with the condition that does not hold.
        sources: what names open columns of the stage, in words.

    Attributes:
        saving: does something with the error of an undeclared read before it is raised.
    """

    __slots__ = ("_declared", "_off", "_report", "_sources", "_stage", "_stores", "saving")

    def __init__(
        self,
        stage: str,
        declared: Collection[str],
        stores: Callable[[], Stores],
        report: Callable[[Violation], None] | None = None,
        off: Mapping[str, str] = MappingProxyType({}),
        sources: str = "",
    ) -> None:
        self._stage = stage
        self._sources = sources
        self._off = off
        self._declared = declared
        self._stores = stores
        self._report = report
        self.saving: Callable[[ContractError], ContractError] | None = None

    @property
    def records(self) -> bool:
        """Whether everything is handed out and undeclared reads are reported."""
        return self._report is not None

    def look(self, name: object) -> object:
        """Somebody looks for a name that was not handed out.

        Returns:
            The value, where undeclared reads are only reported; None where there is none.

        Raises:
            UndeclaredReadError: if the caller's batch holds it.
        """
        if not isinstance(name, str) or name in self._declared:
            return None
        found = self._stores().find(name)
        if found is None:
            return None
        placement, value = found
        held = value.text if isinstance(value, Elsewhere) else describe_in_store(value, placement)
        condition = self._off.get(name)
        way = f"add {name} to them" + (f", or to {self._sources}" if self._sources else "")
        violation = Violation(
            code="BP002",
            field=name,
            placement=placement,
            actual=f"the caller's batch holds {held}",
            expected=f"the Reads of '{self._stage}' do not declare it"
            if condition is None
            else f"'{self._stage}' reads it where {condition}, and that does not hold",
            hint=way if condition is None else "",
            where=Where(stage=self._stage, boundary="reads"),
        )
        if self._report is not None:
            self._report(violation)
            return value
        subject = f"in stage '{self._stage}', which looked for a field it does not declare"
        error = UndeclaredReadError(subject, [violation])
        raise error if self.saving is None else self.saving(error)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A pickle or a deep copy of what was handed out knows nothing of the caller's batch, and does not hold it."""
        return type(None), ()


class _HandedKeys(KeysView[str]):
    def __init__(self, store: HandedDict[Any]) -> None:
        super().__init__(store)
        self._store = store

    def __contains__(self, key: object) -> bool:
        return key in self._store


class HandedDict(dict[str, V]):
    """A plain dict, but for names that were withheld."""

    __slots__ = ("withheld",)

    def __init__(self, values: dict[str, V], withheld: Withheld) -> None:
        super().__init__(values)
        self.withheld = withheld

    def __missing__(self, key: str) -> V:
        self.withheld.look(key)
        raise KeyError(key)

    def __getitem__(self, key: str) -> V:
        if self.withheld.records:
            self.withheld.look(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return self._has(key)

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, default) if self._has(key) else default

    def pop(self, key: str, *default: Any) -> Any:
        self._has(key)
        return super().pop(key, *default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._has(key)
        return super().setdefault(key, default)

    def keys(self) -> Any:  # dict_keys cannot be made of anything but a dict
        return _HandedKeys(self)

    def copy(self) -> HandedDict[V]:
        return HandedDict(dict(self), self.withheld)

    def __reduce__(self) -> tuple[type, tuple[dict[str, V]]]:
        return (dict, (dict(self),))

    def _has(self, key: object) -> bool:
        found = super().__contains__(key)
        if not found or self.withheld.records:
            self.withheld.look(key)
        return found


class HandedTensorDict(TensorDict):  # type: ignore[no-untyped-call]  # tensordict's __init_subclass__ is untyped
    """A `TensorDict`, but for names that were withheld. What is derived from one knows the same names."""

    _withheld: Withheld | None = None

    @classmethod
    def hand(
        cls, tensors: dict[str, Any], batch_size: torch.Size, device: torch.device | None, withheld: Withheld
    ) -> HandedTensorDict:
        """Make one of tensors that are known to have this batch size; it skips the checks of the constructor."""
        made: HandedTensorDict = cls._new_unsafe(cast(Any, tensors), batch_size=batch_size, device=device)
        made._withheld = withheld
        return made

    def _look(self, key: object) -> None:
        withheld = self._withheld
        if isinstance(key, tuple) and key:
            key = key[0]
        if withheld is not None and isinstance(key, str) and (withheld.records or key not in self._names()):
            withheld.look(key)

    def _names(self) -> Any:
        return super().keys()

    def __getitem__(self, index: Any) -> Any:
        self._look(index)
        found = super().__getitem__(index)
        return found if isinstance(index, str) else self._know(found)

    def get(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        self._look(key)
        return super().get(key, *args, **kwargs)

    def pop(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        self._look(key)
        return super().pop(key, *args, **kwargs)

    def __contains__(self, key: object) -> bool:
        self._look(key)
        return bool(super().__contains__(cast(Any, key)))

    def select(self, *keys: Any, **kwargs: Any) -> Any:
        for key in keys:
            self._look(key)
        return self._know(super().select(*keys, **kwargs))

    def keys(self, *args: Any, **kwargs: Any) -> Any:
        return _HandedTensorKeys(super().keys(*args, **kwargs), self._look)

    def _know(self, derived: Any) -> Any:
        if self._withheld is not None:
            for part in derived if isinstance(derived, (tuple, list)) else (derived,):
                if isinstance(part, HandedTensorDict):
                    part._withheld = self._withheld
        return derived

    def __reduce__(self) -> Any:
        tensors = dict(self.items())
        if cast(
            Any, self
        ).is_consolidated():  # all view one memory, and torch.save refuses such tensors where dtypes differ
            tensors = {name: value.clone() for name, value in tensors.items()}
        return TensorDict(tensors, batch_size=self.batch_size, device=self.device).__reduce__()


def knowing(like: TensorDictBase, derived: TensorDict) -> TensorDict:
    """A `TensorDict` that comes from `like`; inside a stage it knows what was withheld."""
    withheld = like._withheld if isinstance(like, HandedTensorDict) else None
    if withheld is None:
        return derived
    return HandedTensorDict.hand(dict(derived.items()), derived.batch_size, derived.device, withheld)


class _HandedTensorKeys(Set[Any]):
    """The keys of a handed-out `TensorDict`: membership is a look, the rest is the keys' own."""

    def __init__(self, keys: Any, look: Callable[[object], None]) -> None:
        self._keys = keys
        self._look = look

    def __contains__(self, key: object) -> bool:
        self._look(key)
        return key in self._keys

    def __iter__(self) -> Any:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return set(it)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._keys, name)

    def __repr__(self) -> str:
        return repr(self._keys)


def _deriving(name: str) -> Callable[..., Any]:
    inherited = getattr(TensorDict, name)

    def method(self: HandedTensorDict, *args: Any, **kwargs: Any) -> Any:
        return self._know(inherited(self, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = inherited.__doc__
    return method


_DERIVING = (
    *("exclude", "clone", "copy", "to", "split", "chunk", "contiguous", "detach", "unbind", "consolidate", "empty"),
    *("apply", "float", "double", "half", "bfloat16", "expand", "squeeze", "unsqueeze", "gather"),
    *("repeat", "repeat_interleave"),
)
for _name in _DERIVING:
    setattr(HandedTensorDict, _name, _deriving(_name))
