"""Source files: the syntax tree of a function that was imported, and the places in it."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterator
from functools import cached_property
from types import CodeType

from batchpact.contracts.lint.trace import Site, Span
from batchpact.contracts.lint.values import FunctionNode

Located = ast.expr | ast.stmt | ast.keyword


class SourceFile:
    """One parsed file.

    Args:
        path: its path, as code objects have it.
        lines: its text.
        tree: its syntax tree.
    """

    def __init__(self, path: str, lines: list[str], tree: ast.Module) -> None:
        self.path = path
        self.lines = lines
        self._functions: dict[tuple[int, str], list[FunctionNode]] = {}
        self._classes: dict[FunctionNode, ast.ClassDef] = {}
        for function, within in _functions(tree):
            name = "<lambda>" if isinstance(function, ast.Lambda) else function.name
            self._functions.setdefault((_first_line(function), name), []).append(function)
            if within is not None:
                self._classes[function] = within
        self._tree = tree

    @cached_property
    def assigned_attributes(self) -> frozenset[str]:
        """The attributes that any code in the file assigns: a constant of a class by such a name is none."""
        nodes = ast.walk(self._tree)
        return frozenset(
            node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        )

    def function(self, code: CodeType) -> FunctionNode | None:
        """The syntax tree of a function; None where several stand on its line."""
        found = self._functions.get((code.co_firstlineno, code.co_name), [])
        return found[0] if len(found) == 1 else None

    def class_of(self, function: FunctionNode) -> ast.ClassDef | None:
        """The class in whose body a function stands."""
        return self._classes.get(function)

    def site(self, node: Located) -> Site:
        """Where a node starts."""
        return self._at(node.lineno, node.col_offset)

    def last_name(self, node: ast.expr, name: str) -> Site:
        """Where the name stands with which a node ends, as in `batch.uid`."""
        line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._at(line, end - len(name.encode()))

    def definition(self, node: FunctionNode) -> Site:
        """Where the name of a function is defined."""
        if isinstance(node, ast.Lambda):
            return self.site(node)
        start = self.site(node)
        text = self.lines[start.line - 1]
        return start._replace(column=max(text.find(f" {node.name}", start.column - 1) + 2, start.column))

    def span(self, node: FunctionNode) -> Span:
        """The lines of a function."""
        return Span(self.path, _first_line(node), node.end_lineno or node.lineno)

    def _at(self, line: int, offset: int) -> Site:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return Site(self.path, line, len(text.encode()[:offset].decode(errors="ignore")) + 1)


class Sources:
    """The files of one run, each parsed once."""

    def __init__(self) -> None:
        self._files: dict[str, SourceFile | None] = {}

    def file(self, path: str) -> SourceFile | None:
        """A file by its path; None where there is none, or it cannot be parsed."""
        if path not in self._files:
            self._files[path] = _parsed(path)
        return self._files[path]


def _parsed(path: str) -> SourceFile | None:
    linecache.checkcache(path)
    lines = linecache.getlines(path)
    if not lines:
        return None
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:  # the file was changed after it was imported
        return None
    return SourceFile(os.path.abspath(path), lines, tree)


def _functions(tree: ast.Module) -> Iterator[tuple[FunctionNode, ast.ClassDef | None]]:
    """Every function with the class in whose body it stands."""
    waiting: list[tuple[ast.AST, ast.ClassDef | None]] = [(tree, None)]
    while waiting:  # and no recursion, as code may be nested deeper than Python calls
        around, within = waiting.pop()
        for node in ast.iter_child_nodes(around):
            if isinstance(node, FunctionNode):
                yield node, within
                waiting.append((node, None))
            else:
                waiting.append((node, node if isinstance(node, ast.ClassDef) else within))


def _first_line(function: FunctionNode) -> int:
    """The line of the first decorator, as code objects count."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    return min([function.lineno, *(decorator.lineno for decorator in decorators)])
