"""The names that a function can see: its own, those of the functions around it, and those of the imported program."""

from __future__ import annotations

import builtins
import sys
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType

from batchpact.contracts.lint.values import Absent, Live, Value, one, union


@dataclass(eq=False, slots=True)
class Scope:
    """The names of one function.

    Attributes:
        names: what its local names may be, at the place where the code is read.
        parent: the scope around it.
        live: the names of the program around it: the cells of a closure, and the module.
        inner: whether it is the scope of a comprehension, into which `:=` does not assign.
        nonlocals: the names that it declares `nonlocal`.
        shared: the names that it declares `global`.
    """

    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    live: Mapping[str, object] | None = None
    inner: bool = False
    nonlocals: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value | None:
        """What a name may be; None where nothing is known of it. A live object is still to be looked at."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if scope.live is not None:
                if name in scope.live:
                    return one(Live(scope.live[name]))
                break
            scope = scope.parent
        return one(Live(vars(builtins)[name])) if hasattr(builtins, name) else None

    def set(self, name: str, value: Value) -> None:
        """Assign to a name."""
        scope = self
        while scope.parent is not None and name in scope.nonlocals:
            scope = scope.parent
        if scope is not self and name in scope.names:
            value = union((scope.names[name], value))
        scope.names[name] = value

    def outer(self) -> Scope:
        """The scope of the function, to whose names `:=` belongs."""
        return self.parent.outer() if self.inner and self.parent is not None else self

    @classmethod
    def around(cls, function: FunctionType) -> Scope:
        """What an imported function sees around it."""
        closed: dict[str, object] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                closed[name] = cell.cell_contents
            except ValueError:  # it is filled later, or never
                continue
        return cls(live=ChainMap(closed, function.__globals__))


def imported(name: str) -> Value:
    """What an import inside a function gives: the object, where somebody has imported it."""
    if name in sys.modules:
        return one(Live(sys.modules[name]))
    module, _, attribute = name.rpartition(".")
    if module in sys.modules and attribute in vars(sys.modules[module]):
        return one(Live(vars(sys.modules[module])[attribute]))
    return one(Absent(name))
