"""Statements: what they assign, which way the code goes on, and what a function returns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from batchpact.contracts.lint.calls import Calls
from batchpact.contracts.lint.machine import Machine, Name
from batchpact.contracts.lint.scope import Scope, imported
from batchpact.contracts.lint.sources import SourceFile
from batchpact.contracts.lint.values import (
    NONE,
    SLOTS,
    UNKNOWN,
    Batch,
    Element,
    Function,
    FunctionNode,
    Items,
    Live,
    Store,
    Value,
    one,
    stored,
    union,
)

Names = dict[str, Value]


class Statements(Calls):
    """Reads the statements of one function.

    Where the code branches, every way is read; what a name may be afterwards is what it may be on any of them.

    Args:
        returned: what is told of each value that is returned, in its place.
    """

    def __init__(
        self, machine: Machine, source: SourceFile, scope: Scope, returned: Callable[[Value], None] | None = None
    ) -> None:
        super().__init__(machine, source, scope)
        self._returned = returned
        self._returns: list[Value] = []
        self._yields: list[Element] = []
        self._exits: list[set[Name]] = []
        self._trying = 0

    def reader(self, function: Function, scope: Scope) -> Statements:
        """What reads the code of another function."""
        return Statements(self.machine, function.source, scope)

    def run_function(self, node: FunctionNode) -> Value:
        """Read the whole function; returns what it returns."""
        if isinstance(node, ast.Lambda):
            return self.value(node.body)
        goes_on = self.run(node.body)
        ends = [*self._exits, *([self.machine.visible] if goes_on else [])]
        self.machine.visible = set().union(*ends) if ends else self.machine.visible
        if self._yields:
            return one(Items(self._yields, complete=False))
        return union([*self._returns, *([NONE] if goes_on else [])])

    def yielded(self, value: Value) -> None:
        """A generator gives a value."""
        self._yields.append(Element(value))

    def run(self, body: Sequence[ast.stmt]) -> bool:
        """Read statements; returns whether the code goes on after them."""
        for statement in body:
            self.machine.step()
            if not self._statement(statement):
                return False
        return True

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr():
                self.value(node.value)
            case ast.Assign():
                value = self.value(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.value(node.value))
            case ast.AugAssign():
                self._change(node)
            case ast.Return():
                value = NONE if node.value is None else self.value(node.value)
                if self._returned is not None:
                    self._returned(value)
                self._returns.append(value)
                self._exits.append(set(self.machine.visible))
                return False
            case ast.Raise():
                for part in (node.exc, node.cause):
                    if part is not None:
                        self.value(part)
                return self._trying > 0
            case ast.If():
                self.value(node.test)
                return self._branch([node.body, node.orelse])
            case ast.For() | ast.AsyncFor():
                self._for(node)
            case ast.While():
                self._repeat(lambda: self._while(node))
                self.run(node.orelse)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    value = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, value)
                return self.run(node.body)
            case ast.Match():
                self.value(node.subject)
                return self._match(node)
            case ast.Delete():
                for target in node.targets:
                    self._delete(target)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(node)
            case ast.ClassDef():
                self.scope.set(node.name, UNKNOWN)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Global() | ast.Nonlocal():
                self.scope.elsewhere.update(node.names)
            case ast.Assert():
                self.value(node.test)
            case _ if isinstance(node, (ast.Try, _TRY_STAR)):
                return self._try(node)
        return True

    # --- ways ----------------------------------------------------------------------------------------------------

    def _branch(self, bodies: Sequence[Sequence[ast.stmt]], prepare: Callable[[int], None] = lambda at: None) -> bool:
        """Read each body from the same state; afterwards the state is what any of them leaves."""
        names, visible = self.scope.names, self.machine.visible
        ends: list[tuple[Names, set[Name]]] = []
        for at, body in enumerate(bodies):
            self.scope.names, self.machine.visible = dict(names), set(visible)
            prepare(at)
            if self.run(body):
                ends.append((self.scope.names, self.machine.visible))
        if not ends:
            self.scope.names, self.machine.visible = names, visible
            return False
        self.scope.names = _joined([end for end, _ in ends])
        self.machine.visible = set().union(*(end for _, end in ends))
        return True

    def _match(self, node: ast.Match) -> bool:
        def prepare(at: int) -> None:
            if at < len(node.cases):
                for part in ast.walk(node.cases[at].pattern):
                    name = getattr(part, "name", None) or getattr(part, "rest", None)
                    if isinstance(name, str):
                        self.scope.set(name, UNKNOWN)
                guard = node.cases[at].guard
                if guard is not None:
                    self.value(guard)

        return self._branch([*(case.body for case in node.cases), []], prepare)

    def _repeat(self, once: Callable[[], None]) -> None:
        """Read a loop: not at all, once, and again where a name means something else the second time."""
        for _ in range(2):
            before, visible = dict(self.scope.names), set(self.machine.visible)
            once()
            changed = any(self.scope.names.get(name) != value for name, value in before.items())
            self.scope.names = _joined([before, self.scope.names])
            self.machine.visible |= visible
            if not changed:
                return

    def _while(self, node: ast.While) -> None:
        self.value(node.test)
        self.run(node.body)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self.value(node.iter)
        rounds, complete = self.rounds(iterated)

        def once() -> None:
            for value in rounds:
                self.assign(node.target, value)
                self.run(node.body)

        if complete:
            once()
        else:
            self._repeat(once)
        self.run(node.orelse)

    def _try(self, node: ast.Try) -> bool:
        names, visible = dict(self.scope.names), set(self.machine.visible)
        self._trying += bool(node.handlers)
        goes_on = self.run(node.body) and self.run(node.orelse)
        self._trying -= bool(node.handlers)
        after_names, after_visible = self.scope.names, self.machine.visible
        # An exception may come before or after anything in the body.
        self.scope.names, self.machine.visible = _joined([names, after_names]), visible | after_visible

        def prepare(at: int) -> None:
            handler = node.handlers[at] if at < len(node.handlers) else None
            if handler is None:
                self.scope.names, self.machine.visible = dict(after_names), set(after_visible)
            elif handler.name is not None:
                self.scope.set(handler.name, UNKNOWN)

        bodies = [handler.body for handler in node.handlers]
        goes_on = self._branch([*bodies, *([[]] if goes_on else [])], prepare) if bodies or goes_on else False
        return self.run(node.finalbody) and goes_on

    # --- assignments ---------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign to a target: a name, an element, an attribute, or several."""
        match target:
            case ast.Name():
                if self.scope.inner:
                    self.scope.names[target.id] = value
                else:
                    self.scope.set(target.id, value)
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value)
            case ast.Starred():
                self.assign(target.value, value)
            case ast.Attribute():
                self._set_attribute_of(target, value)
            case ast.Subscript():
                self._set_element(target, value)

    def _unpack(self, targets: Sequence[ast.expr], value: Value) -> None:
        found: list[list[Value]] = [[] for _ in targets]
        starred = any(isinstance(target, ast.Starred) for target in targets)
        for atom in value:
            elements = self.elements(one(atom))
            exact = isinstance(atom, Items) and atom.complete and len(elements) == len(targets) and not starred
            for at in range(len(targets)):
                found[at].append(elements[at].value if exact else union(element.value for element in elements))
        for target, values in zip(targets, found, strict=True):
            whole = one(Items([Element(union(values))], complete=False))
            self.assign(target, whole if isinstance(target, ast.Starred) else union(values))

    def _set_attribute_of(self, target: ast.Attribute, value: Value) -> None:
        for atom in self.value(target.value):
            if isinstance(atom, Batch) and atom.schema is not None:
                homes = atom.schema.__batchpact__.homes
                key = homes[target.attr][0].key if target.attr in homes else target.attr
                self.machine.put(atom.flat, key, value, self.source.last_name(target, target.attr))
            elif isinstance(atom, Batch) and target.attr in SLOTS:
                stores = list(stored(value))
                unknown = any(not isinstance(held, (Store, Batch)) and held not in NONE for held in value)
                added = [*stores, *([Store(open=True)] if unknown else [])]
                atom.slots[SLOTS[target.attr]] += [
                    store for store in added if store not in atom.slots[SLOTS[target.attr]]
                ]
            elif not isinstance(atom, (Batch, Store)):
                self.machine.lend(value, "kept in an attribute", self.site(target))

    def _set_element(self, target: ast.Subscript, value: Value) -> None:
        base, index, site = self.value(target.value), self.index(target.slice), self.site(target.slice)
        for atom in base:
            if isinstance(atom, (Store, Batch)):
                for store in stored((atom,)):
                    self.set_names(store, index, value, site)
            elif isinstance(atom, Items):
                atom.elements.append(Element(value))
                atom.complete = False
            else:
                self.machine.lend(value, "kept in something else", site)

    def _change(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Attribute):
            before = self.value(ast.Attribute(target.value, target.attr, ast.Load(), **_place(target)))
        elif isinstance(target, ast.Subscript):
            before = self.value(ast.Subscript(target.value, target.slice, ast.Load(), **_place(target)))
        else:
            before = self.named(target.id)
        value = self.value(node.value)
        changed = [atom for atom in before if isinstance(atom, (Store, Batch, Items))]
        for atom in changed:
            if isinstance(atom, Items):
                atom.elements += self.elements(value)
                atom.complete &= self.rounds(value)[1]
            else:
                for store in stored((atom,)):
                    self.fill(store, value, self.site(node.value))
        self.assign(target, frozenset(changed) if changed else self._combine(node.op, before, value, self.site(node)))

    def _delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name():
                self.scope.names.pop(target.id, None)
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self._delete(part)
            case ast.Subscript():
                index, site = self.index(target.slice), self.site(target.slice)
                holders = [atom for atom in self.value(target.value) if isinstance(atom, (Store, Batch))]
                if holders:
                    for key, where in self.keys(index, site)[0]:
                        self.machine.look(holders, key, "deleted", where)
                        self.take_out(holders, key)

    # --- definitions ---------------------------------------------------------------------------------------------

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.machine.nested.setdefault(node, Function(node, self.scope, self.source))
        self.scope.set(node.name, one(function))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                self.scope.set(alias.asname or alias.name, imported(f"{self._module(node)}.{alias.name}"))
            else:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self.scope.set(alias.asname or name, imported(name))

    def _module(self, node: ast.ImportFrom) -> str:
        """The full name of the module that is imported from."""
        package = [atom.thing for atom in self.scope.find("__package__") or () if isinstance(atom, Live)]
        if node.level and package and isinstance(package[0], str):
            return ".".join([*package[0].split(".")[: 1 - node.level or None], *filter(None, [node.module])])
        return node.module or ""


_TRY_STAR: type = getattr(ast, "TryStar", ast.Try)


def _place(node: ast.expr) -> dict[str, int | None]:
    return {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}


def _joined(ways: Sequence[Names]) -> Names:
    """What names may be after several ways."""
    found: Names = {}
    for way in ways:
        for name, value in way.items():
            found[name] = value if name not in found else found[name] | value
    return found
