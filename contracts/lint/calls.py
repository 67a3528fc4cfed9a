"""Calls: known functions and methods, functions that are followed into their code, and all others."""

from __future__ import annotations

import ast
import functools

from batchpact.contracts.decorator import contract_of
from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.expressions import Expressions
from batchpact.contracts.lint.functions import call_known
from batchpact.contracts.lint.making import collate
from batchpact.contracts.lint.members import find_member
from batchpact.contracts.lint.methods import call_method, field_method
from batchpact.contracts.lint.names import elements, probe
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sequences import sequence_method
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Absent,
    Atom,
    Batch,
    Element,
    Field,
    Function,
    Holder,
    Instance,
    Items,
    Keys,
    Live,
    Method,
    Store,
    Value,
    holders_in,
    is_complete,
    is_schema,
    one,
    union,
)
from batchpact.schemas.batch import BatchSchema
from batchpact.schemas.record import SchemaSpec, StageSpec
from batchpact.schemas.stores import store_of

_DEPTH = 12
"""Helper functions are followed so deep."""


class Calls(Expressions):
    """Reads calls."""

    def call(self, node: ast.Call) -> Value:
        """What a call gives."""
        callee = self.value(node.func)
        return self.call_value(callee, self._arguments(node), _called(node.func))

    def _arguments(self, node: ast.Call) -> Arguments:
        args = Arguments(self.site(node))
        for argument in node.args:
            value, site = self.value(argument), self.site(argument)
            if not isinstance(argument, ast.Starred):
                args.positional.append(Argument(value, site))
                continue
            parts = elements(self.machine, value, site)
            if is_complete(value) and args.more is None:
                args.positional += [Argument(part.value, part.site or site) for part in parts]
            else:
                args.more = union([args.more or UNKNOWN, *(part.value for part in parts)])
        for keyword in node.keywords:
            value, site = self.value(keyword.value), self.site(keyword)
            if keyword.arg is not None:
                args.keywords[keyword.arg] = Argument(value, site)
            else:
                self._spread(args, value, site)
        return args

    def _spread(self, args: Arguments, value: Value, site: Site) -> None:
        """Take the names of what stands behind `**`."""
        for atom in value:
            store = atom.flat if isinstance(atom, Batch) else atom
            if isinstance(store, Store):
                for key, entry in self.machine.held(store):
                    args.keywords[key] = Argument(entry.value, (*entry.sites, site)[0])
                self.machine.use_all(store, site)
            if not isinstance(store, Store) or store.given or store.open:
                args.more = args.more or UNKNOWN

    def call_value(self, callee: Value, args: Arguments, name: str) -> Value:
        """What the call of a value gives."""
        found: list[Value] = []
        methods: dict[str, list[Holder]] = {}
        for atom in callee:
            if isinstance(atom, Method) and isinstance(atom.of, (Store, Batch)):
                methods.setdefault(atom.name, []).append(atom.of)
            else:
                found.append(self._call_atom(atom, args, name))
        found += [call_method(self.machine, holders, method, args) for method, holders in methods.items()]
        return union(found)

    def _call_atom(self, callee: Atom, args: Arguments, name: str) -> Value:
        if isinstance(callee, Function):
            return self.follow(callee, args)
        if isinstance(callee, Method):
            return self._other_method(callee, args)
        if isinstance(callee, (Live, Absent)):
            known = self._map(callee, args) if isinstance(callee, Live) else None
            known = call_known(self, callee, args) if known is None else known
            if known is not None:
                return known
            contract = contract_of(callee.thing) if isinstance(callee, Live) else None
            if contract is not None and not (contract.unpacking is not None and _has_values_only(args)):
                return self._call_stage(contract.spec, args)
        self.lend(args, f"given to {name}, whose code is not read")
        return UNKNOWN

    def lend(self, args: Arguments, to: str) -> None:
        """Arguments go to code that is not read. Functions among them are called there, with what stands after them."""
        for value in args.values():
            self.machine.lend(value, to, args.site)
        for at, argument in enumerate(args.positional):
            self._call_back(argument.value, Arguments(args.site, args.positional[at + 1 :], args.keywords, UNKNOWN))
        for argument in args.keywords.values():
            self._call_back(argument.value, Arguments(args.site, more=UNKNOWN))

    def _call_back(self, value: Value, args: Arguments) -> None:
        for atom in value:
            if isinstance(atom, Function):
                self.follow(atom, args)

    def _other_method(self, callee: Method, args: Arguments) -> Value:
        of, name = callee.of, callee.name
        if isinstance(of, Items):
            return sequence_method(self.machine, of, name, args)
        if isinstance(of, Field):
            self.lend(args, f"given to {name}, whose code is not read")
            return field_method(of, name)
        if isinstance(of, Keys) and name == "isdisjoint":
            for argument in args.positional:
                probe(self.machine, one(of), argument.value, args.site)
        if isinstance(of, Live) and is_schema(of.thing):
            return self._schema_method(of.thing, name, args)
        return UNKNOWN

    def _schema_method(self, schema: type[BatchSchema], name: str, args: Arguments) -> Value:
        """What a schema does with rows."""
        if name == "collate":
            return collate(self.machine, schema, args)
        row = args.get(0, "row")
        self._read_by(schema.__batchpact__.spec, holders_in(UNKNOWN if row is None else row.value), name, args.site)
        return NONE

    def _map(self, callee: Live, args: Arguments) -> Value | None:
        """Python's functions that take a function."""
        if callee.thing is functools.partial and args.positional and args.more is None and not args.keywords:
            bound = tuple(argument.value for argument in args.positional[1:])
            parts = [atom for atom in args.positional[0].value if isinstance(atom, Function)]
            made = [Function(f.node, f.scope, f.source, (*f.bound, *bound)) for f in parts]
            return frozenset(made) if made else None
        if callee.thing in (map, filter) and len(args.positional) > 1:
            function, *sequences = args.positional
            sides = [Argument(self._any(argument), argument.site) for argument in sequences]
            given = self.call_value(function.value, Arguments(args.site, sides), "a function")
            return one(Items([Element(given if callee.thing is map else sides[0].value)], complete=False))
        return None

    def _any(self, argument: Argument) -> Value:
        """What an element of a sequence may be."""
        return union(part.value for part in elements(self.machine, argument.value, argument.site))

    # --- stages that call stages ---------------------------------------------------------------------------------

    def _call_stage(self, spec: StageSpec, args: Arguments) -> Value:
        """Another stage is called: it reads what it declares, and gives what it writes."""
        holders = [holder for value in args.values() for holder in holders_in(value)]
        made = self.machine.batch()
        self._read_by(spec.reads, holders, f"the stage '{spec.name}'", args.site)
        for holder in holders:
            for store in holder.stores:
                store.lent = True
            if spec.rows.kind != "same" and isinstance(holder, Batch):
                made = self.machine.derive(holder)
        for field in spec.writes.fields:
            self.machine.put(made.flat, field.key, UNKNOWN, args.site)
        made.flat.open |= bool(spec.writes.columns)
        return one(made)

    def _read_by(self, schema: SchemaSpec, holders: list[Holder], reader: str, site: Site) -> None:
        """Batches or rows are read as a schema declares it."""
        for field in (field for field in schema.fields if field.place("arg") is None):
            if field.required and field.when is None:
                self.machine.look(holders, field.key, f"read by {reader}", site)
            else:
                self.machine.use(holders, field.key, site)
        kinds = {store_of(place.placement) for column in schema.columns for place in column.places}
        for store in (store for holder in holders for store in holder.stores if store.placement in kinds):
            self.machine.use_all(store, site, own=True)

    # --- functions that are followed -----------------------------------------------------------------------------

    def follow(self, function: Function, args: Arguments) -> Value:
        """Read the code of a function, as it is called here."""
        machine, node = self.machine, function.node
        if machine.depth > _DEPTH or machine.tired:
            machine.skip(function)
            self.lend(args, "given to a function that is too far away to be read")
            return UNKNOWN
        bound = self.bound(function, args.after(function.bound))
        known = machine.begin(function, bound)
        if known is not None:
            return known
        result = self.reader(function.source, Scope(bound, function.scope)).run_function(node)
        machine.end(result)
        return result

    def bound(self, function: Function, given: Arguments) -> dict[str, Value]:
        """What the parameters of a function are in a call."""
        around, node = self.reader(function.source, function.scope), function.node
        by_position = [*node.args.posonlyargs, *node.args.args]
        defaults = dict(zip([p.arg for p in by_position][::-1], node.args.defaults[::-1], strict=False))
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default is not None:
                defaults[parameter.arg] = default
        bound = given.bind(node, {name: around.value(default) for name, default in defaults.items()})
        if node.args.kwarg is not None:
            rest = Store(open=given.more is not None)
            for name, argument in given.others(node).items():
                self.machine.put(rest, name, argument.value, argument.site)
            bound[node.args.kwarg.arg] = one(rest)
        return bound

    def member(self, of: Instance, name: str) -> Value:
        """A method of the same class, or a constant of it."""
        return find_member(self, of, name)


def _has_values_only(args: Arguments) -> bool:
    """Whether the first argument is no batch: a function of plain values is then called as it is written."""
    return not any(holders_in(argument.value) for argument in args.positional[:1])


def _called(node: ast.expr) -> str:
    """What a message calls a function: never by the name of a local variable."""
    return node.attr if isinstance(node, ast.Attribute) else "a function"
