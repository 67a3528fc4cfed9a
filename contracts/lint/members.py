"""`self`: the methods of the class of a stage, and its constants."""

from __future__ import annotations

import ast
from typing import TypeGuard

from batchpact.contracts.lint.expressions import Expressions
from batchpact.contracts.lint.values import UNKNOWN, Function, Instance, Value, one, union


def find_member(reader: Expressions, of: Instance, name: str) -> Value:
    """A method of the same class, or a constant of it that nobody assigns on an instance."""
    for base in () if of.kind is None else of.kind.__mro__[of.above :]:
        if name in vars(base):
            return _of_class(reader, of, base, name)
    for node in () if of.node is None or of.above else of.node.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return _method(of, Function(node, of.scope, of.source))
        if _assigns(node, name) and name not in of.source.assigned_attributes:
            return reader.reader(of.source, of.scope).value(node.value)
    return UNKNOWN


def _of_class(reader: Expressions, of: Instance, base: type, name: str) -> Value:
    held = vars(base)[name]
    value = reader.machine.program.attribute(base, name)
    if isinstance(held, (staticmethod, type)):
        return value
    if name in of.source.assigned_attributes and not callable(held):
        return UNKNOWN
    return union(_method(of, atom) if isinstance(atom, Function) else one(atom) for atom in value)


def _method(of: Instance, function: Function) -> Value:
    node = function.node
    decorators = [] if isinstance(node, ast.Lambda) else [ast.unparse(decorator) for decorator in node.decorator_list]
    if any(decorator.endswith("property") for decorator in decorators):
        return UNKNOWN
    bound: tuple[Value, ...] = () if "staticmethod" in decorators else (one(of),)
    return one(Function(node, function.scope, function.source, bound))


def _assigns(node: ast.stmt, name: str) -> TypeGuard[ast.Assign]:
    """Whether a statement of a class assigns a constant."""
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
