"""Calls: known functions and methods, functions that are followed into their code, and all others."""

from __future__ import annotations

import ast
import functools
from abc import abstractmethod
from collections.abc import Sequence

from batchpact.contracts.decorator import contract_of
from batchpact.contracts.lint.arguments import Argument, Arguments
from batchpact.contracts.lint.functions import Functions
from batchpact.contracts.lint.methods import Holder
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    UNKNOWN,
    Absent,
    Atom,
    Batch,
    Element,
    Field,
    Function,
    Instance,
    Items,
    KeyOf,
    Keys,
    Live,
    Method,
    Store,
    Text,
    Value,
    one,
    union,
)
from batchpact.schemas.record import StageSpec

_DEPTH = 12
"""Helper functions are followed so deep."""


class Calls(Functions):
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
            for atom in value:
                if isinstance(atom, Items) and atom.complete and len(value) == 1 and args.more is None:
                    args.positional += [Argument(element.value, element.site or site) for element in atom.elements]
                else:
                    args.more = union([element.value for element in self.elements(one(atom))])
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
                self.machine.use_all(store)
                if store.given or store.open:
                    args.more = UNKNOWN if args.more is None else args.more
            else:
                args.more = UNKNOWN if args.more is None else args.more

    def call_value(self, callee: Value, args: Arguments, name: str) -> Value:
        """What the call of a value gives."""
        found: list[Value] = []
        methods: dict[str, list[Holder]] = {}
        for atom in callee:
            if isinstance(atom, Method) and isinstance(atom.of, (Store, Batch)):
                methods.setdefault(atom.name, []).append(atom.of)
            else:
                found.append(self._call_atom(atom, args, name))
        found += [self.method(holders, method, args) for method, holders in methods.items()]
        return union(found)

    def _call_atom(self, callee: Atom, args: Arguments, name: str) -> Value:
        if isinstance(callee, Function):
            return self.follow(callee, args)
        if isinstance(callee, Method):
            return self._other_method(callee, args)
        if isinstance(callee, (Live, Absent)):
            known = self._map(callee, args) if isinstance(callee, Live) else None
            known = self.known(callee, args) if known is None else known
            if known is not None:
                return known
            contract = contract_of(callee.thing) if isinstance(callee, Live) else None
            if contract is not None:
                return self._call_stage(contract.spec, args)
        self.lend(args, f"given to {name}, whose code is not read")
        return UNKNOWN

    def lend(self, args: Arguments, to: str) -> None:
        """Arguments go to code that is not read; functions among them are called by it, with nobody knows what."""
        for value in args.values():
            self.machine.lend(value, to, args.site)
            for atom in value:
                if isinstance(atom, Function):
                    self.follow(atom, Arguments(args.site, more=UNKNOWN))

    def _other_method(self, callee: Method, args: Arguments) -> Value:
        of, name = callee.of, callee.name
        if isinstance(of, Items):
            return self.sequence_method(of, name, args)
        if isinstance(of, Field):
            self.lend(args, f"given to {name}, whose code is not read")
            return self.field_method(of, name, args)
        if isinstance(of, Keys) and name == "isdisjoint":
            for argument in args.positional:
                self.probe(one(of), argument.value, args.site)
        return UNKNOWN if isinstance(of, (Text, Keys, KeyOf)) else self._unread(args)

    def _map(self, callee: Live, args: Arguments) -> Value | None:
        """Python's functions that take a function."""
        if callee.thing is functools.partial and args.positional and args.more is None and not args.keywords:
            bound = tuple(argument.value for argument in args.positional[1:])
            parts = [atom for atom in args.positional[0].value if isinstance(atom, Function)]
            made = [Function(f.node, f.scope, f.source, (*f.bound, *bound)) for f in parts]
            return frozenset(made) if made else None
        if callee.thing in (map, filter) and args.positional:
            function, *sequences = args.positional
            elements = [Argument(union(e.value for e in self.elements(s.value)), s.site) for s in sequences]
            given = self.call_value(function.value, Arguments(args.site, elements), "a function")
            return one(Items([Element(given if callee.thing is map else elements[0].value)], complete=False))
        return None

    # --- stages that call stages ---------------------------------------------------------------------------------

    def _call_stage(self, spec: StageSpec, args: Arguments) -> Value:
        """Another stage is called: it reads what it declares, and gives what it writes."""
        holders: Sequence[Holder] = [
            atom for value in args.values() for atom in value if isinstance(atom, (Store, Batch))
        ]
        made = self.machine.batch(given=False)
        for field in spec.reads.fields:
            if field.place("arg") is None and field.required and field.when is None:
                self.machine.look(holders, field.key, f"read by the stage '{spec.name}'", args.site)
            elif field.place("arg") is None:
                self.machine.use(holders, field.key, args.site)
        for holder in holders:
            for store in holder.stores if isinstance(holder, Batch) else (holder,):
                store.lent = True
            if spec.rows.kind != "same" and isinstance(holder, Batch):
                made = self.machine.derive(holder)
        for field in spec.writes.fields:
            self.machine.put(made.flat, field.key, UNKNOWN, args.site)
        return one(made)

    # --- functions that are followed -----------------------------------------------------------------------------

    def follow(self, function: Function, args: Arguments) -> Value:
        """Read the code of a function, as it is called here."""
        machine, node = self.machine, function.node
        machine.read.add(node)
        if node in machine.stack:
            return UNKNOWN
        if len(machine.stack) > _DEPTH or machine.tired:
            self.lend(args, "given to a function that is called too deep to be read")
            return UNKNOWN
        given = args.after(function.bound)
        bound = self.bound(function, given)
        key = (node, tuple(sorted(bound.items(), key=lambda item: item[0]))) if function.scope.parent is None else None
        if key is not None and key in machine.known_results:
            return machine.known_results[key]
        machine.stack.append(node)
        machine.trace.spans.add(function.source.span(node))
        reader = self.reader(function, Scope(bound, function.scope))
        result = reader.run_function(node)
        machine.stack.pop()
        if key is not None and not any(isinstance(atom, (Store, Batch, Items)) for atom in result):
            machine.known_results[key] = result
        return result

    def bound(self, function: Function, given: Arguments) -> dict[str, Value]:
        around, node = self.reader(function, function.scope), function.node
        by_position = [*node.args.posonlyargs, *node.args.args]
        defaults = dict(zip([p.arg for p in by_position][::-1], node.args.defaults[::-1], strict=False))
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default is not None:
                defaults[parameter.arg] = default
        bound = given.bind(node, {name: around.value(default) for name, default in defaults.items()})
        if node.args.kwarg is not None:
            rest = Store(open=given.more is not None)
            for name, argument in given.rest(node).items():
                self.machine.put(rest, name, argument.value, argument.site)
            bound[node.args.kwarg.arg] = one(rest)
        return bound

    @abstractmethod
    def reader(self, function: Function, scope: Scope) -> Calls:
        """What reads the code of another function."""

    @abstractmethod
    def run_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Value:
        """Read the whole function; returns what it returns."""

    # --- self ----------------------------------------------------------------------------------------------------

    def member(self, of: Instance, name: str) -> Value:
        """A method of the same class, or a constant of it that nobody assigns."""
        if of.kind is not None:
            for base in of.kind.__mro__[of.above :]:
                if name in vars(base):
                    return self._bound_member(of, base, name)
        if of.node is not None and not of.above:
            for node in of.node.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                    return self._method(of, Function(node, of.scope, of.source))
                if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                    assigned = name in of.source.assigned_attributes
                    return (
                        UNKNOWN
                        if assigned
                        else self.reader(Function(_NOTHING, of.scope, of.source), of.scope).value(node.value)
                    )
        return UNKNOWN

    def _bound_member(self, of: Instance, base: type, name: str) -> Value:
        raw = vars(base)[name]
        value = self.machine.attribute(base, name)
        if isinstance(raw, staticmethod) or isinstance(raw, type):
            return value
        if name in of.source.assigned_attributes and not callable(raw):
            return UNKNOWN
        return union(self._method(of, atom) if isinstance(atom, Function) else one(atom) for atom in value)

    @staticmethod
    def _method(of: Instance, function: Function) -> Value:
        node = function.node
        decorators = [] if isinstance(node, ast.Lambda) else [ast.unparse(d) for d in node.decorator_list]
        if any(decorator.endswith(("property", "setter")) for decorator in decorators):
            return UNKNOWN
        bound: tuple[Value, ...] = () if "staticmethod" in decorators else (one(of),)
        return one(Function(node, function.scope, function.source, bound))


_NOTHING = ast.Lambda(ast.arguments([], [], None, [], [], None, []), ast.Constant(None))


def _called(node: ast.expr) -> str:
    """What a message calls a function: never by the name of a local variable."""
    return node.attr if isinstance(node, ast.Attribute) else "a function"
