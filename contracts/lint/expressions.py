"""Expressions: what their values may be, and which names of the batch they look for."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.names import element, elements, fill, rounds, set_names
from batchpact.contracts.lint.operators import combine, compare, spelled
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import Located, SourceFile
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    NONE,
    OF_ROWS,
    SLOTS,
    UNKNOWN,
    Absent,
    Atom,
    Batch,
    Element,
    Function,
    FunctionNode,
    Instance,
    Items,
    Live,
    Method,
    Store,
    Text,
    Unknown,
    Value,
    holders_in,
    is_complete,
    is_schema,
    one,
    union,
)


class Expressions(ABC):
    """Reads the expressions of one function.

    Args:
        machine: the state of the whole stage.
        source: the file of the function.
        scope: its names.
    """

    def __init__(self, machine: Machine, source: SourceFile, scope: Scope) -> None:
        self.machine = machine
        self.source = source
        self.scope = scope

    def site(self, node: Located) -> Site:
        """Where a node starts."""
        return self.source.site(node)

    def value(self, node: ast.expr) -> Value:
        """What an expression may be."""
        match node:
            case ast.Constant():
                return one(Text(node.value)) if isinstance(node.value, str) else one(Live(node.value))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
                return one(Live(-number))
            case ast.Name():
                return self.named(node.id)
            case ast.Attribute():
                return union(self.attribute(atom, node) for atom in self.value(node.value))
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self.call(node)
            case ast.List() | ast.Tuple() | ast.Set():
                return one(self._display(node.elts))
            case ast.Dict():
                return one(self._dict(node))
            case ast.JoinedStr():
                return spelled([self.value(part) for part in node.values])
            case ast.FormattedValue():
                value = self.value(node.value)
                return value if node.format_spec is None and node.conversion == -1 else UNKNOWN
            case ast.BinOp():
                return combine(self.machine, node.op, self.value(node.left), self.value(node.right), self.site(node))
            case ast.BoolOp():
                return union([self.value(part) for part in node.values])
            case ast.IfExp():
                self.value(node.test)
                return union([self.value(node.body), self.value(node.orelse)])
            case ast.NamedExpr():
                value = self.value(node.value)
                self.scope.outer().set(node.target.id, value)
                return value
            case ast.Compare():
                left, site = self.value(node.left), self.site(node.left)
                for op, side in zip(node.ops, node.comparators, strict=True):
                    right = self.value(side)
                    compare(self.machine, op, left, right, site)
                    left, site = right, self.site(side)
                return UNKNOWN
            case ast.Lambda():
                return self._lambda(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case ast.DictComp():
                return self._dict_comprehension(node)
            case ast.Await() | ast.Starred():
                return self.value(node.value)
            case ast.Yield():
                self.yielded(NONE if node.value is None else self.value(node.value))
                return UNKNOWN
            case ast.YieldFrom():
                parts = elements(self.machine, self.value(node.value), self.site(node))
                self.yielded(union(part.value for part in parts))
                return UNKNOWN
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                return UNKNOWN

    @abstractmethod
    def reader(self, source: SourceFile, scope: Scope) -> Expressions:
        """What reads the code of another function."""

    @abstractmethod
    def run_function(self, node: FunctionNode) -> Value:
        """Read a whole function; returns what it returns."""

    @abstractmethod
    def call(self, node: ast.Call) -> Value:
        """What a call gives."""

    @abstractmethod
    def yielded(self, value: Value) -> None:
        """A generator gives a value."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign to a target: a name, an element, an attribute, or several."""

    def named(self, name: str) -> Value:
        """What a name may be."""
        found = self.scope.find(name)
        if found is None:
            return UNKNOWN
        return union(self.machine.program.seen(atom.thing) if isinstance(atom, Live) else one(atom) for atom in found)

    # --- attributes and elements ---------------------------------------------------------------------------------

    def attribute(self, of: Atom, node: ast.Attribute) -> Value:
        """An attribute of something that is known."""
        name = node.attr
        if isinstance(of, Batch):
            return self.batch_attribute(of, name, self.source.last_name(node, name))
        if isinstance(of, Live) and name in OF_ROWS and is_schema(of.thing):
            return one(Method(of, name))
        if isinstance(of, Live):
            return self.machine.program.attribute(of.thing, name)
        if isinstance(of, Absent):
            return one(Absent(f"{of.name}.{name}"))
        if isinstance(of, Instance):
            return self.member(of, name)
        if isinstance(of, Text) and name in ("value", "name"):  # a member of an enumeration of strings
            return one(of)
        return UNKNOWN if isinstance(of, (Unknown, Function)) else one(Method(of, name))

    def batch_attribute(self, batch: Batch, name: str, site: Site, how: str = "read") -> Value:
        """A field of Reads or Writes, a store of a DataProto, or a method."""
        if batch.schema is not None:
            home = batch.schema.__batchpact__.homes.get(name)
            if name == "__dict__":
                self.machine.use_all(batch.flat, site)
                return one(self.machine.copy(batch.flat))
            if home is None and hasattr(batch.schema, name):
                return one(Method(batch, name))
            column = batch.schema.__batchpact__.columns.get(name)
            key = name if home is None else home[0].key
            return self.machine.look([batch], key if column is None else column.spec.key, how, site)
        if name in SLOTS:
            self.machine.is_data_proto |= batch.given
            return frozenset(batch.slots[SLOTS[name]])
        return one(Method(batch, name))

    @abstractmethod
    def member(self, of: Instance, name: str) -> Value:
        """An attribute of `self`."""

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        index = self.index(node.slice)
        found: list[Value] = []
        holders = holders_in(base)
        if holders:
            found.append(element(self.machine, holders, index, self.site(node.slice)))
        for atom in base:
            if isinstance(atom, Items):
                found.append(_item(atom, index))
        return union(found)

    def index(self, node: ast.expr) -> Value:
        """What stands between brackets; of several axes, or of the names of a nested field, the first one."""
        if isinstance(node, ast.Tuple) and node.elts:
            first, *_ = [self.index(part) for part in node.elts]
            return first
        value = self.value(node)
        return one(Live(slice(None))) if isinstance(node, ast.Slice) else value

    # --- what holds other values ---------------------------------------------------------------------------------

    def _display(self, nodes: Iterable[ast.expr]) -> Items:
        made = Items([])
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.value(node.value)
                made.elements += elements(self.machine, value, self.site(node))
                made.complete &= is_complete(value)
            else:
                made.elements.append(Element(self.value(node), self.site(node)))
        return made

    def _dict(self, node: ast.Dict) -> Store:
        store = Store()
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value)
            if key is None:
                fill(self.machine, store, held, self.site(value))
            else:
                set_names(self.machine, store, self.value(key), held, self.site(key))
        return store

    # --- functions and comprehensions ----------------------------------------------------------------------------

    def _lambda(self, node: ast.Lambda) -> Value:
        return one(self.machine.define(Function(node, self.scope, self.source)))

    def _generate(self, generators: Sequence[ast.comprehension], then: Iterable[ast.expr]) -> list[list[Value]]:
        """The values of some expressions, for each time that they are to be read."""
        if not generators:
            return [[self.value(node) for node in then]]
        found: list[list[Value]] = []
        first, *rest = generators
        for value in rounds(self.machine, self.value(first.iter), self.site(first.iter))[0]:
            self.assign(first.target, value)
            for condition in first.ifs:
                self.value(condition)
            found += self._generate(rest, then)
        return found

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        around, self.scope = self.scope, Scope(parent=self.scope, inner=True)
        found = self._generate(node.generators, [node.elt])
        self.scope = around
        return one(Items([Element(value) for (value,) in found], complete=False))

    def _dict_comprehension(self, node: ast.DictComp) -> Value:
        around, self.scope = self.scope, Scope(parent=self.scope, inner=True)
        found = self._generate(node.generators, [node.key, node.value])
        self.scope = around
        made = Store()
        for key, value in found:
            set_names(self.machine, made, key, value, self.site(node.key))
        return one(made)


def _item(items: Items, index: Value) -> Value:
    """An element of a sequence: by its number where both are known."""
    if len(index) == 1:
        for atom in index:
            number = atom.thing if isinstance(atom, Live) else None
            if isinstance(number, slice):
                return one(Items(items.elements, complete=False))
            if items.complete and isinstance(number, int) and -len(items.elements) <= number < len(items.elements):
                return items.elements[number].value
    return union(part.value for part in items.elements)
