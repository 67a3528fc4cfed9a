"""Statements: which ways the code can go, and what a function returns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from batchpact.contracts.lint.assignments import Assignments
from batchpact.contracts.lint.machine import Machine, Name
from batchpact.contracts.lint.names import rounds
from batchpact.contracts.lint.scope import Scope, imported
from batchpact.contracts.lint.sources import SourceFile
from batchpact.contracts.lint.values import (
    NONE,
    UNKNOWN,
    Element,
    Function,
    FunctionNode,
    Items,
    Live,
    Value,
    one,
    union,
)

Names = dict[str, Value]

_TRY_STAR: type[ast.Try] = getattr(ast, "TryStar", ast.Try)  # except*, from Python 3.11 on


class Statements(Assignments):
    """Reads the statements of one function.

    Where the code branches, every way is read; what a name may be afterwards is what it may be on any of them.

    Args:
        machine: the state of the whole stage.
        source: the file of the function.
        scope: its names.
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

    def reader(self, source: SourceFile, scope: Scope) -> Statements:
        """What reads the code of another function."""
        return Statements(self.machine, source, scope)

    def run_function(self, node: FunctionNode) -> Value:
        """Read the whole function; returns what it returns."""
        if isinstance(node, ast.Lambda):
            return self.value(node.body)
        goes_on = self.run(node.body)
        if goes_on:
            self._leave(NONE)
        self.machine.visible = set().union(*self._exits) if self._exits else self.machine.visible
        return one(Items(self._yields, complete=False)) if self._yields else union(self._returns)

    def _leave(self, value: Value) -> None:
        if self._returned is not None:
            self._returned(value)
        self._returns.append(value)
        self._exits.append(set(self.machine.visible))

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
                self.change(node)
            case ast.Return():
                self._leave(NONE if node.value is None else self.value(node.value))
                return False
            case ast.Raise():
                for part in (node.exc, node.cause):
                    if part is not None:
                        self.value(part)
                return self.machine.trying > 0
            case ast.If():
                self.value(node.test)
                return self._branch([node.body, node.orelse])
            case ast.For() | ast.AsyncFor():
                return self._for(node)
            case ast.While():
                return self._while(node)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    value = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, self._entered(value))
                return self.run(node.body)
            case ast.Match():
                return self._match(node)
            case ast.Try():
                return self._try(node)
            case ast.Assert():
                self.value(node.test)
            case ast.Delete():
                for target in node.targets:
                    self.delete(target)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.scope.set(node.name, one(self.machine.define(Function(node, self.scope, self.source))))
            case ast.ClassDef():
                self._define_class(node)
            case ast.Import():
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.scope.set(alias.asname or name, imported(name))
            case ast.ImportFrom():
                for alias in node.names:
                    self.scope.set(alias.asname or alias.name, imported(f"{self._module(node)}.{alias.name}"))
            case ast.Nonlocal():
                self.scope.nonlocals.update(node.names)
            case ast.Global():
                self.scope.shared.update(node.names)
            case _ if isinstance(node, _TRY_STAR):
                return self._try(node)
        return True

    # --- ways ----------------------------------------------------------------------------------------------------

    def _branch(self, bodies: Sequence[Sequence[ast.stmt]], before: Callable[[int], None] = lambda at: None) -> bool:
        """Read each body from the same state; afterwards the state is what any of them leaves."""
        names, visible = self.scope.names, self.machine.visible
        ends: list[tuple[Names, set[Name]]] = []
        for at, body in enumerate(bodies):
            self.scope.names, self.machine.visible = dict(names), set(visible)
            before(at)
            if self.run(body):
                ends.append((self.scope.names, self.machine.visible))
        self.scope.names = _joined([end for end, _ in ends]) if ends else names
        self.machine.visible = set().union(*(end for _, end in ends)) if ends else visible
        return bool(ends)

    @staticmethod
    def _entered(value: Value) -> Value:
        """What `with` gives: what a generator function yields, or the context itself."""
        parts = (union(e.value for e in atom.elements) if isinstance(atom, Items) else one(atom) for atom in value)
        return union(parts)

    def _match(self, node: ast.Match) -> bool:
        self.value(node.subject)

        def before(at: int) -> None:
            case = node.cases[at] if at < len(node.cases) else None
            if case is None:
                return
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.scope.set(name, UNKNOWN)
            if case.guard is not None:
                self.value(case.guard)

        return self._branch([*(case.body for case in node.cases), []], before)

    def _for(self, node: ast.For | ast.AsyncFor) -> bool:
        values, complete = rounds(self.machine, self.value(node.iter), self.site(node.iter))

        def once() -> bool:
            goes_on = True
            for value in values:
                self.assign(node.target, value)
                goes_on = self.run(node.body)
            return goes_on

        goes_on = once() if complete and values else self._repeat(once)
        return self.run(node.orelse) and goes_on

    def _while(self, node: ast.While) -> bool:
        def once() -> bool:
            self.value(node.test)
            return self.run(node.body)

        self._repeat(once)
        return self.run(node.orelse)

    def _repeat(self, once: Callable[[], bool]) -> bool:
        """Read a loop: not at all, once, and again where a name means something else the second time."""
        for _ in range(2):
            names, visible = dict(self.scope.names), set(self.machine.visible)
            once()
            changed = any(self.scope.names.get(name) != value for name, value in names.items())
            self.scope.names = _joined([names, self.scope.names])
            self.machine.visible |= visible
            if not changed or self.machine.tired:
                break
        return True

    def _try(self, node: ast.Try) -> bool:
        names, visible = dict(self.scope.names), set(self.machine.visible)
        self.machine.trying += bool(node.handlers)
        goes_on = self.run(node.body) and self.run(node.orelse)
        self.machine.trying -= bool(node.handlers)
        done_names, done_visible = self.scope.names, self.machine.visible
        # An exception may come before or after anything in the body.
        self.scope.names, self.machine.visible = _joined([names, done_names]), visible | done_visible

        def before(at: int) -> None:
            if at == len(node.handlers):
                self.scope.names, self.machine.visible = dict(done_names), set(done_visible)
            elif (name := node.handlers[at].name) is not None:
                self.scope.set(name, UNKNOWN)

        ways = [*(handler.body for handler in node.handlers), *([[]] if goes_on else [])]
        goes_on = self._branch(ways, before)
        return self.run(node.finalbody) and goes_on

    # --- definitions ---------------------------------------------------------------------------------------------

    def _define_class(self, node: ast.ClassDef) -> None:
        """A class inside a function: nothing is known of it, but its methods see what is around it."""
        self.scope.set(node.name, UNKNOWN)
        for part in node.body:
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.machine.define(Function(part, self.scope, self.source))

    def _module(self, node: ast.ImportFrom) -> str:
        """The full name of the module that is imported from."""
        package = [atom.thing for atom in self.scope.find("__package__") or () if isinstance(atom, Live)]
        if node.level and package and isinstance(package[0], str):
            return ".".join([*package[0].split(".")[: 1 - node.level or None], *filter(None, [node.module])])
        return node.module or ""


def _joined(ways: Sequence[Names]) -> Names:
    """What names may be after several ways."""
    found: Names = {}
    for way in ways:
        for name, value in way.items():
            found[name] = value if name not in found else found[name] | value
    return found
