"""Expressions: what their values may be, and which names of the batch they look for."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import product

from batchpact.contracts.lint.machine import COMPUTED, Machine
from batchpact.contracts.lint.scope import Scope
from batchpact.contracts.lint.sources import Located, SourceFile
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import (
    NONE,
    SLOTS,
    UNKNOWN,
    Absent,
    Atom,
    Batch,
    Element,
    Function,
    Instance,
    Items,
    KeyOf,
    Keys,
    Live,
    Method,
    Store,
    Text,
    Unknown,
    Value,
    one,
    stored,
    union,
)

_UNROLLED = 32
"""A loop over more known elements is read once, for all of them."""
_SPELLED = 64
"""A string with more possible spellings is unknown."""


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
                return self._spelled([self.value(part) for part in node.values])
            case ast.FormattedValue():
                value = self.value(node.value)
                return value if node.format_spec is None and node.conversion == -1 else UNKNOWN
            case ast.BinOp():
                return self._combine(node.op, self.value(node.left), self.value(node.right), self.site(node))
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
                return self._compare(node)
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
                self.yielded(union(element.value for element in self.elements(self.value(node.value))))
                return UNKNOWN
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child)
                return UNKNOWN

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
        return union(self.machine.seen(atom.thing) if isinstance(atom, Live) else one(atom) for atom in found)

    # --- attributes and elements ---------------------------------------------------------------------------------

    def attribute(self, of: Atom, node: ast.Attribute) -> Value:
        """An attribute of something that is known."""
        name = node.attr
        if isinstance(of, Batch):
            return self.batch_attribute(of, name, self.source.last_name(node, name))
        if isinstance(of, Live):
            return self.machine.attribute(of.thing, name)
        if isinstance(of, Absent):
            return one(Absent(f"{of.name}.{name}"))
        if isinstance(of, Instance):
            return self.member(of, name)
        if isinstance(of, Text) and name in ("value", "name"):  # a member of an enumeration of strings
            return one(of)
        return UNKNOWN if isinstance(of, (Unknown, Function)) else one(Method(of, name))

    def batch_attribute(self, batch: Batch, name: str, site: Site) -> Value:
        """A field of Reads or Writes, a store of a DataProto, or a method."""
        if batch.schema is not None:
            home = batch.schema.__batchpact__.homes.get(name)
            if home is None and hasattr(batch.schema, name):
                return one(Method(batch, name))
            return self.machine.look([batch], name if home is None else home[0].key, "read", site)
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
        holders = [atom for atom in base if isinstance(atom, (Store, Batch))]
        if holders:
            found.append(self.element(holders, index, self.site(node.slice)))
        for atom in base:
            if isinstance(atom, Items):
                found.append(_item(atom, index))
        return union(found)

    def index(self, node: ast.expr) -> Value:
        """What stands between brackets; of several axes, or of the names of a nested field, the first one."""
        if isinstance(node, ast.Tuple) and node.elts:
            return [self.index(part) for part in node.elts][0]
        value = self.value(node)
        return one(Live(slice(None))) if isinstance(node, ast.Slice) else value

    def element(self, holders: Sequence[Store | Batch], index: Value, site: Site) -> Value:
        """An element of batches or stores: the value under a name, or the batch of some rows."""
        found: list[Value] = []
        keys, known = self.keys(index, site)
        for key, _ in keys:
            found.append(self.machine.look(holders, key, "read", site))
        if not known or not keys:
            found.append(self.machine.derived(frozenset(holders)))
        if not known:
            self.computed(holders, site, or_rows=True)
        return union(found)

    def computed(self, holders: Sequence[Store | Batch], site: Site, *, or_rows: bool = False) -> None:
        """A name that is computed or, where a batch may be asked for `or_rows`, perhaps some of its rows."""
        for holder in holders:
            if isinstance(holder, Batch) and or_rows:
                self.machine.unclear(holder, site)
            else:
                self.machine.hide(holder.flat if isinstance(holder, Batch) else holder, COMPUTED, site)

    def keys(self, value: Value, site: Site) -> tuple[list[tuple[str, Site]], bool]:
        """The names that a value may be, or may hold, and whether they are all."""
        found: dict[tuple[str, Site], None] = {}
        known = True
        for atom in value:
            if isinstance(atom, Text):
                found[atom.text, site] = None
            elif isinstance(atom, Items):
                for element in atom.elements:
                    inner, all_known = self.keys(element.value, element.site or site)
                    found.update(dict.fromkeys(inner))
                    known = known and all_known
            elif isinstance(atom, Store) and not atom.given:
                found.update({(key, (*entry.sites, site)[0]): None for key, entry in self.machine.held(atom)})
                known = known and not atom.open
            elif isinstance(atom, (Keys, KeyOf)):
                self.machine.use_all(atom.store)
            elif not (isinstance(atom, Live) and isinstance(atom.thing, (int, slice, type(None), type(...)))):
                known = False
        return list(found), known

    # --- what holds other values ---------------------------------------------------------------------------------

    def _display(self, nodes: Iterable[ast.expr]) -> Items:
        made = Items([])
        for node in nodes:
            if isinstance(node, ast.Starred):
                for atom in self.value(node.value):
                    elements = self.elements(one(atom))
                    made.elements += elements
                    made.complete &= isinstance(atom, Items) and atom.complete
            else:
                made.elements.append(Element(self.value(node), self.site(node)))
        return made

    def _dict(self, node: ast.Dict) -> Store:
        store = Store()
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value)
            if key is None:
                self.fill(store, held, self.site(value))
            else:
                self.set_names(store, self.value(key), held, self.site(key))
        return store

    def set_names(self, store: Store, index: Value, value: Value, site: Site) -> None:
        """The code sets the names that an index may be."""
        keys, known = self.keys(index, site)
        store.open |= not known
        for key, where in keys:
            self.machine.put(store, key, value, where)

    def fill(self, store: Store, value: Value, site: Site) -> None:
        """The code sets all names of something in a store, as `update` and `**` do."""
        for atom in value:
            if isinstance(atom, (Store, Batch)):
                for other in stored((atom,)):
                    self.machine.join(store, other)
            elif isinstance(atom, Items):
                self._fill_pairs(store, atom, site)
            elif atom not in NONE:
                store.open = True

    def _fill_pairs(self, store: Store, pairs: Items, site: Site) -> None:
        for element in pairs.elements:
            for pair in element.value:
                if isinstance(pair, Items) and pair.complete and len(pair.elements) == 2:
                    key, value = pair.elements
                    self.set_names(store, key.value, value.value, key.site or site)
                else:
                    store.open = True

    def elements(self, value: Value) -> list[Element]:
        """What a loop over a value may give."""
        found: list[Element] = []
        for atom in value:
            if isinstance(atom, Items):
                found += atom.elements
            elif isinstance(atom, Store) and atom.given:
                self.machine.use_all(atom)
                found.append(Element(one(KeyOf(atom))))
            elif isinstance(atom, Store):
                found += [Element(one(Text(key)), (*entry.sites, None)[0]) for key, entry in self.machine.held(atom)]
                found += [Element(UNKNOWN)] if atom.open else []
            elif isinstance(atom, (Keys, KeyOf)):
                found += self.elements(one(atom.store)) if isinstance(atom, Keys) else [Element(UNKNOWN)]
            elif isinstance(atom, Batch):
                found.append(Element(one(self.machine.derive(atom))))
            elif isinstance(atom, Live) and isinstance(atom.thing, type) and hasattr(atom.thing, "__members__"):
                found += [Element(self.machine.seen(member)) for member in atom.thing.__members__.values()]
            else:
                found.append(Element(UNKNOWN))
        return found

    def rounds(self, value: Value) -> tuple[list[Value], bool]:
        """The values of a loop's target, one for each time that its body is to be read; and whether these are all."""
        elements = [element.value for element in self.elements(value)]
        complete = len(value) == 1 and all(
            (isinstance(atom, Items) and atom.complete) or (isinstance(atom, Store) and not (atom.given or atom.open))
            for atom in value
        )
        if complete and len(elements) <= _UNROLLED and not self.machine.tired:
            return elements, True
        return [union(elements)], False

    # --- operators -----------------------------------------------------------------------------------------------

    def _spelled(self, parts: Sequence[Value]) -> Value:
        """The strings that known parts make."""
        texts = [[atom.text if isinstance(atom, Text) else None for atom in part] for part in parts]
        number = 1
        for part in texts:
            number *= len(part)
        if number > _SPELLED or any(text is None for part in texts for text in part):
            return UNKNOWN
        return frozenset(Text("".join(text or "" for text in spelled)) for spelled in product(*texts))

    def _combine(self, op: ast.operator, left: Value, right: Value, site: Site) -> Value:
        both = [*left, *right]
        if isinstance(op, ast.BitAnd):
            self._probe_all(left, right, site)
        if isinstance(op, ast.BitOr) and any(isinstance(atom, Store) for atom in both):
            made = Store()
            for side in (left, right):
                self.fill(made, side, site)
            return one(made)
        if any(isinstance(atom, (Items, Keys)) for atom in both):
            sides = (left,) if isinstance(op, ast.Sub) else (left, right)
            return one(Items([element for side in sides for element in self.elements(side)], complete=False))
        return self._spelled([left, right]) if isinstance(op, ast.Add) else UNKNOWN

    def _compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            if isinstance(op, (ast.In, ast.NotIn)):
                self.probe(right, left, self.site(node.left))
            elif isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                self._probe_all(left, right, self.site(node))
            left = right
        return UNKNOWN

    def _probe_all(self, left: Value, right: Value, site: Site) -> None:
        for names, among in ((left, right), (right, left)):
            if any(isinstance(atom, Keys) for atom in among):
                self.probe(among, frozenset(atom for atom in names if isinstance(atom, Items)), site)

    def probe(self, among: Value, names: Value, site: Site) -> None:
        """The code asks whether names are there."""
        holders: list[Store | Batch] = [atom for atom in among if isinstance(atom, (Store, Batch))]
        holders += [atom.store for atom in among if isinstance(atom, Keys)]
        if not holders:
            return
        keys, known = self.keys(names, site)
        for key, where in keys:
            self.machine.look(holders, key, "looked for", where)
        if not known:
            self.computed(holders, site)

    # --- functions and comprehensions ----------------------------------------------------------------------------

    def _lambda(self, node: ast.Lambda) -> Value:
        function = self.machine.nested.setdefault(node, Function(node, self.scope, self.source))
        return one(function)

    def _generate(self, generators: Sequence[ast.comprehension], then: Iterable[ast.expr]) -> list[list[Value]]:
        """The values of some expressions, for each time that they are to be read."""
        if not generators:
            return [[self.value(node) for node in then]]
        found: list[list[Value]] = []
        first, *rest = generators
        for value in self.rounds(self.value(first.iter))[0]:
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
            self.set_names(made, key, value, self.site(node.key))
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
    return union(element.value for element in items.elements)
