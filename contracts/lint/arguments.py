"""The arguments of a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import Element, FunctionNode, Items, Value, one, union


class Argument(NamedTuple):
    """One argument, with the place where it stands."""

    value: Value
    site: Site


@dataclass(slots=True)
class Arguments:
    """Everything that a call is given.

    Attributes:
        site: where the call stands.
        positional: the positional arguments, as far as they are known.
        keywords: the keyword arguments.
        more: what the elements of an unknown `*args` or `**kwargs` may be; None where there is none.
    """

    site: Site
    positional: list[Argument] = field(default_factory=list)
    keywords: dict[str, Argument] = field(default_factory=dict)
    more: Value | None = None

    def get(self, position: int | None, name: str) -> Argument | None:
        """An argument by its position or its name; None where it is not given."""
        if name in self.keywords:
            return self.keywords[name]
        return self.positional[position] if position is not None and position < len(self.positional) else None

    def values(self) -> Iterator[Value]:
        """All values."""
        yield from (argument.value for argument in (*self.positional, *self.keywords.values()))
        if self.more is not None:
            yield self.more

    def after(self, bound: tuple[Value, ...]) -> Arguments:
        """The same arguments with others before them."""
        return Arguments(
            self.site, [*(Argument(value, self.site) for value in bound), *self.positional], self.keywords, self.more
        )

    def bind(self, node: FunctionNode, defaults: dict[str, Value]) -> dict[str, Value]:
        """What the parameters of a function are when it is called with these."""
        parameters = node.args
        by_position = [*parameters.posonlyargs, *parameters.args]
        bound: dict[str, Value] = {}
        for at, parameter in enumerate(by_position):
            given = self.get(at, parameter.arg)
            bound[parameter.arg] = self._else(defaults.get(parameter.arg)) if given is None else given.value
        for parameter in parameters.kwonlyargs:
            given = self.keywords.get(parameter.arg)
            bound[parameter.arg] = self._else(defaults.get(parameter.arg)) if given is None else given.value
        if parameters.vararg is not None:
            rest = [Element(argument.value, argument.site) for argument in self.positional[len(by_position) :]]
            more = [] if self.more is None else [Element(self.more)]
            bound[parameters.vararg.arg] = one(Items([*rest, *more], complete=not more))
        return bound

    def others(self, node: FunctionNode) -> dict[str, Argument]:
        """The keyword arguments that no parameter of a function takes."""
        parameters = node.args
        taken = {parameter.arg for parameter in (*parameters.args, *parameters.kwonlyargs)}
        return {name: argument for name, argument in self.keywords.items() if name not in taken}

    def _else(self, default: Value | None) -> Value:
        return union(value for value in (default, self.more) if value is not None)
