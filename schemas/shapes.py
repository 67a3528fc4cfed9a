"""The shape language: dim strings as jaxtyping spells them, parsed once and never evaluated as Python.

"batch response"         two named axes
"batch 4 chan=3"         fixed sizes, with or without a label
"batch _ ..."            an axis of any size, any number of axes
"batch *inner"           any number of axes under one name
"batch prompt+response"  arithmetic over names: + - * // and parentheses
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from batchpact.schemas.expressions import Expression

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_ANY = re.compile(r"_[A-Za-z0-9_]*\Z")
_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_][A-Za-z0-9_]*|//|[-+*()])")
_JAXTYPING_ONLY = {
    "#": "'#' allows broadcasting; a contract wants the exact size",
    "?": "'?' lets a size differ between leaves; a batch has one size for each name",
    "{": "braces are filled in by jaxtyping at run time; name the dim and bind it with a meta field or an argument",
}


class ShapeSyntaxError(ValueError):
    """A dim string that the shape language does not know; the message says which part and what to write."""


@dataclass(frozen=True, slots=True)
class Dim:
    """One axis of a declared shape.

    `kind` says what it is: a `name`, a `fixed` size, `any` size, `many` axes at once (named or not), or an
    `expression` over names.
    """

    text: str
    kind: Literal["name", "fixed", "any", "many", "expression"]
    name: str | None = None
    size: int | None = None
    expression: Expression | None = None

    def as_expression(self) -> Expression | None:
        """The axis as arithmetic, or None where any size is allowed."""
        if self.kind == "name" and self.name is not None:
            return Expression.name(self.name)
        if self.kind == "fixed" and self.size is not None:
            return Expression.constant(self.size)
        return self.expression


@lru_cache(maxsize=4096)
def parse_dims(text: str) -> tuple[Dim, ...]:
    """Read a dim string.

    Raises:
        ShapeSyntaxError: if a part of the string is not in the language, or two parts stand for many axes.
    """
    dims = tuple(_parse_dim(part) for part in text.split())
    many = [dim.text for dim in dims if dim.kind == "many"]
    if len(many) > 1:
        raise ShapeSyntaxError(
            f"{text!r} has {len(many)} parts for any number of axes ({' and '.join(many)}); keep one"
        )
    return dims


def _parse_dim(part: str) -> Dim:
    for sign, reason in _JAXTYPING_ONLY.items():
        if sign in part:
            raise ShapeSyntaxError(f"{part!r} is not supported: {reason}")
    if "," in part:
        raise ShapeSyntaxError(f"{part!r} has a comma: dims are separated by spaces alone")
    if part == "...":
        return Dim(part, "many")
    if part.startswith("*"):
        name = part[1:]
        if name == "_" or not name:
            raise ShapeSyntaxError(f"{part!r}: write '...' for any number of unnamed axes")
        return Dim(part, "many", name=_checked_name(name, part))
    if _ANY.match(part):
        return Dim(part, "any")
    if _NAME.match(part):
        return Dim(part, "name", name=part)
    if part.isdecimal():
        return Dim(part, "fixed", size=int(part))
    if "=" in part:
        label, _, size = part.partition("=")
        if not size.isdecimal():
            raise ShapeSyntaxError(f"{part!r}: a label takes a number, as in '{label or 'channels'}=4'")
        return Dim(part, "fixed", name=_checked_name(label, part), size=int(size))
    expression = _Parser(part).parse()
    if not any(expression.names()):
        size_of = expression.evaluate({})
        if size_of is None or size_of < 0:
            raise ShapeSyntaxError(f"{part!r} is no size")
        return Dim(part, "fixed", size=size_of)
    return Dim(part, "expression", expression=expression)


def _checked_name(name: str, part: str) -> str:
    if not _NAME.match(name):
        raise ShapeSyntaxError(f"{part!r}: {name!r} is not a name")
    return name


class _Parser:
    """Recursive descent over one arithmetic dim: sums of products of names, numbers and parentheses."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise ShapeSyntaxError(f"{text!r}: {text[place]!r} has no meaning in a dim; + - * // and ( ) do")
            self._tokens.append(match.group(1))
            place = match.end()
        self._next = 0

    def parse(self) -> Expression:
        result = self._sum()
        if self._peek() is not None:
            raise self._unexpected()
        return result

    def _peek(self) -> str | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self, *wanted: str) -> str | None:
        token = self._peek()
        if token is not None and token in wanted:
            self._next += 1
            return token
        return None

    def _sum(self) -> Expression:
        total = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            total = total + (right if sign == "+" else -right)
        return total

    def _product(self) -> Expression:
        total = self._atom()
        while sign := self._take("*", "//"):
            right = self._atom()
            total = total * right if sign == "*" else total // right
        return total

    def _atom(self) -> Expression:
        if self._take("-"):
            return -self._atom()
        if self._take("("):
            inner = self._sum()
            if not self._take(")"):
                raise ShapeSyntaxError(f"{self._text!r}: a closing ')' is missing")
            return inner
        token = self._peek()
        if token is None or not (token.isdecimal() or _NAME.match(token)):
            raise self._unexpected()
        self._next += 1
        return Expression.constant(int(token)) if token.isdecimal() else Expression.name(token)

    def _unexpected(self) -> ShapeSyntaxError:
        token = self._peek()
        what = "it ends too early" if token is None else f"{token!r} is not expected there"
        return ShapeSyntaxError(f"{self._text!r}: {what}")
