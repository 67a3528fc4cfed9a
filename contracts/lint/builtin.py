"""Python's own functions, as far as batches, stores and names go through them."""

from __future__ import annotations

from collections.abc import Callable

from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.expressions import Expressions
from batchpact.contracts.lint.methods import call_method
from batchpact.contracts.lint.names import computed, elements, rounds, set_names
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Absent,
    Atom,
    Batch,
    Element,
    Instance,
    Items,
    Keys,
    Live,
    Store,
    Text,
    Value,
    is_complete,
    one,
    stored,
    union,
)

_NEUTRAL = frozenset(
    (
        *("abs", "all", "any", "bool", "float", "int", "len", "max", "min", "range", "round", "str", "sum"),
        *("callable", "format", "hash", "id", "isinstance", "issubclass", "print", "repr"),
    )
)
"""They look at no field of a batch by its name."""
MODULES = ("builtins", "copy", "typing", "typing_extensions")


def call_builtin(reader: Expressions, name: str, args: Arguments) -> Value | None:
    """What a function of Python gives; None for one that is not known."""
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(reader, args)
    return UNKNOWN if name in _NEUTRAL else None


def _sequence(reader: Expressions, args: Arguments) -> Value:
    if not args.positional:
        return one(Items([]))
    value, site = args.positional[0]
    if any(isinstance(atom, Keys) or (isinstance(atom, Store) and atom.given) for atom in value):
        return frozenset(Keys(atom) if isinstance(atom, Store) else atom for atom in value)
    return one(Items(elements(reader.machine, value, site), complete=is_complete(value)))


def _dictionary(reader: Expressions, args: Arguments) -> Value:
    store = Store()
    call_method(reader.machine, [store], "update", args)
    return one(store)


def _numbered(reader: Expressions, args: Arguments) -> Value:
    return _paired(reader, args.positional[:1], args, [UNKNOWN])


def _zipped(reader: Expressions, args: Arguments) -> Value:
    return _paired(reader, args.positional, args, [])


def _paired(reader: Expressions, sides: list[Argument], args: Arguments, before: list[Value]) -> Value:
    """Tuples of one element of each side, one for each round where the rounds are known."""
    found = [rounds(reader.machine, side.value, side.site) for side in sides]
    complete = bool(found) and args.more is None and all(known for _, known in found)
    number = min(len(values) for values, _ in found) if complete else 1
    rows = [[*before, *(values[at] if complete else union(values) for values, _ in found)] for at in range(number)]
    return one(Items([Element(one(Items([Element(cell) for cell in row]))) for row in rows], complete))


def _next(reader: Expressions, args: Arguments) -> Value:
    found = [
        part.value for argument in args.positional[:1] for part in elements(reader.machine, argument.value, args.site)
    ]
    return union([*found, *(default.value for default in args.positional[1:])])


def _same(reader: Expressions, args: Arguments) -> Value:
    return reader.machine.derived(args.positional[0].value) if args.positional else UNKNOWN


def _cast(reader: Expressions, args: Arguments) -> Value:
    value = args.get(1, "val")
    return UNKNOWN if value is None else value.value


def _get_attribute(reader: Expressions, args: Arguments) -> Value:
    of, name, *default = args.positional if len(args.positional) > 1 else [Argument(UNKNOWN, args.site)] * 2
    how = "looked for" if default else "read"
    found = [_attribute(reader, holder, atom, how, name.site) for holder in of.value for atom in name.value]
    return union([*found, *(argument.value for argument in default)])


def _has_attribute(reader: Expressions, args: Arguments) -> Value:
    _get_attribute(reader, Arguments(args.site, [*args.positional[:2], Argument(NONE, args.site)]))
    return UNKNOWN


def _attribute(reader: Expressions, holder: Atom, name: Atom, how: str, site: Site) -> Value:
    if not isinstance(name, Text):
        computed(reader.machine, [holder] if isinstance(holder, Batch) else [], site)
    elif isinstance(holder, Batch):
        return reader.batch_attribute(holder, name.text, site, how)
    elif isinstance(holder, Instance):
        return reader.member(holder, name.text)
    elif isinstance(holder, Live):
        return reader.machine.program.attribute(holder.thing, name.text)
    return UNKNOWN


def _set_attribute(reader: Expressions, args: Arguments) -> Value:
    if len(args.positional) == 3:
        of, name, value = args.positional
        for store in stored(of.value):
            set_names(reader.machine, store, name.value, value.value, name.site)
    return NONE


def _variables(reader: Expressions, args: Arguments) -> Value:
    holders = list(stored(args.positional[0].value)) if args.positional else []
    for store in holders:
        reader.machine.use_all(store, args.site)
    return reader.machine.derived(holders) or UNKNOWN


def _kind(reader: Expressions, args: Arguments) -> Value:
    for atom in args.positional[0].value if args.positional else ():
        if isinstance(atom, Instance) and atom.kind is not None:
            return one(Live(atom.kind))
        if isinstance(atom, Batch) and atom.schema is not None:
            return one(Live(atom.schema))
        if isinstance(atom, (Store, Batch)):
            in_rows = isinstance(atom, Store) and atom.rows
            name = "batchpact.DataProto" if isinstance(atom, Batch) else "tensordict.TensorDict"
            return one(Absent(name) if in_rows or isinstance(atom, Batch) else Live(dict))
    return UNKNOWN


def _above(reader: Expressions, args: Arguments) -> Value:
    for value in reader.scope.outer().names.values():
        for atom in value:
            if isinstance(atom, Instance):
                return one(Instance(atom.kind, atom.node, atom.scope, atom.source, above=True))
    return UNKNOWN


_HANDLERS: dict[str, Callable[[Expressions, Arguments], Value]] = {
    "cast": _cast,
    "copy": _same,
    "deepcopy": _same,
    "dict": _dictionary,
    "enumerate": _numbered,
    "frozenset": _sequence,
    "getattr": _get_attribute,
    "hasattr": _has_attribute,
    "iter": _sequence,
    "list": _sequence,
    "next": _next,
    "reversed": _sequence,
    "set": _sequence,
    "setattr": _set_attribute,
    "sorted": _sequence,
    "super": _above,
    "tuple": _sequence,
    "type": _kind,
    "vars": _variables,
    "zip": _zipped,
}
