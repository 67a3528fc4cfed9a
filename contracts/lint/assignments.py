"""Assignments: to names, to elements and attributes, to several at once; and what `del` takes away."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from batchpact.contracts.lint.arguments import Arguments
from batchpact.contracts.lint.calls import Calls
from batchpact.contracts.lint.methods import take_out
from batchpact.contracts.lint.names import elements, fill, look, set_names
from batchpact.contracts.lint.operators import combine
from batchpact.contracts.lint.values import (
    SLOTS,
    Batch,
    Element,
    Items,
    Store,
    Value,
    holders_in,
    is_complete,
    kept,
    one,
    union,
)


class Assignments(Calls):
    """Reads assignments."""

    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign to a target: a name, an element, an attribute, or several."""
        match target:
            case ast.Name():
                self.scope.set(target.id, value)
                if target.id in self.scope.shared:
                    self.machine.lend(value, "kept in a global", self.site(target))
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value)
            case ast.Starred():
                self.assign(target.value, value)
            case ast.Attribute():
                for atom in self.value(target.value):
                    self._set_attribute_of(atom, target, value)
            case ast.Subscript():
                self._set_element(target, value)

    def _unpack(self, targets: Sequence[ast.expr], value: Value) -> None:
        found: list[list[Value]] = [[] for _ in targets]
        starred = any(isinstance(target, ast.Starred) for target in targets)
        for atom in value:
            parts = elements(self.machine, one(atom), self.site(targets[0])) if targets else []
            exact = is_complete(one(atom)) and len(parts) == len(targets) and not starred
            for at in range(len(targets)):
                found[at].append(parts[at].value if exact else union(part.value for part in parts))
        for target, values in zip(targets, found, strict=True):
            rest = one(Items([Element(union(values))], complete=False))
            self.assign(target, rest if isinstance(target, ast.Starred) else union(values))

    def _set_attribute_of(self, atom: object, target: ast.Attribute, value: Value) -> None:
        if isinstance(atom, Batch) and atom.schema is not None:
            homes = atom.schema.__batchpact__.homes
            key = homes[target.attr][0].key if target.attr in homes else target.attr
            self.machine.put(atom.flat, key, value, self.source.last_name(target, target.attr))
        elif isinstance(atom, Batch) and target.attr in SLOTS:
            slot = atom.slots[SLOTS[target.attr]]
            slot += [store for store in kept(value) if store not in slot]
        elif not isinstance(atom, (Batch, Store)):
            self.machine.lend(value, "kept in an attribute", self.site(target))

    def _set_element(self, target: ast.Subscript, value: Value) -> None:
        base, index, site = self.value(target.value), self.index(target.slice), self.site(target.slice)
        for atom in base:
            if isinstance(atom, (Store, Batch)):
                set_names(self.machine, atom.flat, index, value, site)
            elif isinstance(atom, Items):
                atom.elements.append(Element(value))
                atom.complete = False
            else:
                self.machine.lend(value, "kept in something else", site)

    def change(self, node: ast.AugAssign) -> None:
        """`+=` and its like: lists, sets and dicts are changed in place, everything else is assigned anew."""
        target, site = node.target, self.site(node.value)
        match target:
            case ast.Attribute():
                before = self.value(ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target))
            case ast.Subscript():
                before = self.value(ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target))
            case ast.Name():
                before = self.named(target.id)
        value = self.value(node.value)
        changed = [atom for atom in before if isinstance(atom, (Store, Batch, Items))]
        for atom in changed:
            if isinstance(atom, Items):
                atom.elements += elements(self.machine, value, site)
                atom.complete &= is_complete(value)
            else:
                fill(self.machine, atom.flat, value, site)
        self.assign(
            target, frozenset(changed) if changed else combine(self.machine, node.op, before, value, self.site(node))
        )

    def delete(self, target: ast.expr) -> None:
        """`del`."""
        match target:
            case ast.Name():
                self.scope.names.pop(target.id, None)
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self.delete(part)
            case ast.Subscript():
                index, site = self.index(target.slice), self.site(target.slice)
                holders = holders_in(self.value(target.value))
                if holders:
                    look(self.machine, holders, index, "deleted", site)
                    take_out(self.machine, holders, index, Arguments(site))
