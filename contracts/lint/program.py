"""The imported program: its constants as values, and the functions whose code can be read."""

from __future__ import annotations

import enum
import inspect
import os
from collections.abc import Callable
from types import FunctionType, MappingProxyType, MethodType, ModuleType

from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import Sources
from batchpact.contracts.lint.values import UNKNOWN, Element, Function, Items, Live, Store, Text, Value, one

_LARGE = 200
"""A constant with more elements is not looked into."""


class Program:
    """What one stage sees of the program. Nothing of it is run.

    Args:
        sources: the source files.
        root: the package of the stage, whose functions are followed.
        folder: its folder, whose functions are followed, too.
        put: sets a name in a store.
    """

    def __init__(self, sources: Sources, root: str, folder: str, put: Callable[[Store, str, Value], None]) -> None:
        self._sources = sources
        self._root = root
        self._folder = folder
        self._put = put
        self._functions: dict[int, tuple[object, Function | None]] = {}

    def seen(self, thing: object) -> Value:
        """An object as a value: strings and what holds them are looked into, functions are followed when called."""
        if isinstance(thing, str):
            return one(Text(thing.value if isinstance(thing, enum.Enum) else str(thing)))
        if isinstance(thing, (list, tuple, set, frozenset)) and len(thing) <= _LARGE:
            return one(Items([Element(self.seen(element)) for element in thing]))
        if isinstance(thing, (dict, MappingProxyType)) and len(thing) <= _LARGE:
            return self._mapping(thing)
        if not isinstance(thing, (FunctionType, MethodType)):
            return one(Live(thing))
        if id(thing) not in self._functions:
            self._functions[id(thing)] = (thing, self._followed(thing))  # the object is kept, and with it its id
        function = self._functions[id(thing)][1]
        value = one(Live(thing) if function is None else function)
        return _bound(value) if isinstance(thing, MethodType) else value

    def _mapping(self, thing: dict[object, object] | MappingProxyType[object, object]) -> Value:
        store = Store()
        for key, value in thing.items():
            if not isinstance(key, str):
                return one(Live(thing))
            self._put(store, key, self.seen(value))
        return one(store)

    def attribute(self, thing: object, name: str) -> Value:
        """An attribute of an object, where no code has to run to get it."""
        if isinstance(thing, enum.Enum) and name in ("value", "name"):
            return self.seen(thing.value if name == "value" else thing.name)
        if isinstance(thing, enum.EnumMeta) and name in thing.__members__:
            return self.seen(thing.__members__[name])
        found = inspect.getattr_static(thing, name, UNKNOWN)
        if found is UNKNOWN or isinstance(found, property):
            return UNKNOWN
        if isinstance(found, staticmethod):
            return self.seen(found.__func__)
        if isinstance(found, classmethod):
            return _bound(self.seen(found.__func__))
        of_class = isinstance(thing, (type, ModuleType)) or name in getattr(thing, "__dict__", ())
        return self.seen(found) if of_class else _bound(self.seen(found))

    def function(self, function: FunctionType) -> Function | None:
        """A function with its code; None where there is none to be read."""
        source = self._sources.file(function.__code__.co_filename)
        node = None if source is None else source.function(function.__code__)
        return None if source is None or node is None else Function(node, Scope.around(function), source)

    def _followed(self, thing: FunctionType | MethodType) -> Function | None:
        """A function of the same package or folder, whose code is read where it is called."""
        if isinstance(thing, MethodType):
            return self._followed(thing.__func__) if isinstance(thing.__func__, FunctionType) else None
        if hasattr(thing, "contract"):
            return None
        function = inspect.unwrap(thing)
        return self.function(function) if isinstance(function, FunctionType) and self._is_near(function) else None

    def _is_near(self, function: FunctionType) -> bool:
        module = function.__module__ or ""
        if is_known(module):
            return False
        return module.partition(".")[0] == self._root or folder_of(function) == self._folder


def _bound(method: Value) -> Value:
    """A method with something before its arguments, of which nothing is known."""
    return frozenset(
        Function(atom.node, atom.scope, atom.source, (UNKNOWN,)) if isinstance(atom, Function) else atom
        for atom in method
    )


def is_known(module: str) -> bool:
    """Whether the functions of a module are known by name, and not followed."""
    return module.partition(".")[0] in ("batchpact", "tensordict") or module in (
        "verl.protocol",
        "verl.utils.tensordict_utils",
    )


def folder_of(function: FunctionType) -> str:
    """The folder in which a function is written."""
    return os.path.dirname(function.__code__.co_filename)
