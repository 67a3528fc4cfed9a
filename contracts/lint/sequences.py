"""Methods of lists and sets, which often hold names."""

from __future__ import annotations

from batchpact.contracts.lint.arguments import Arguments
from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.names import elements, probe
from batchpact.contracts.lint.values import Element, Items, Value, is_complete, one, union


def sequence_method(machine: Machine, items: Items, name: str, args: Arguments) -> Value:
    """A call of a method of a list or a set."""
    if name in ("append", "add", "insert"):
        items.elements += [Element(argument.value, argument.site) for argument in args.positional[-1:]]
    elif name in ("extend", "update", "union"):
        changed = items if name != "union" else Items(list(items.elements), items.complete)
        for argument in args.positional:
            changed.elements += elements(machine, argument.value, argument.site)
            changed.complete &= is_complete(argument.value)
        return one(changed)
    elif name in ("intersection", "difference", "issubset", "issuperset", "isdisjoint"):
        for argument in args.positional:
            probe(machine, argument.value, one(items), args.site)
    elif name == "pop":
        return union(element.value for element in items.elements)
    return one(Items(list(items.elements), complete=False))
