"""Python types as the record names them: whether one admits every value of another."""

from __future__ import annotations

from collections.abc import Iterator

from batchpact.contracts.lock.relation import Relation, relation

_EVERYTHING = ("Any", "object")
_COVARIANT = ("dict", "frozenset", "list", "set", "tuple")


def types_relation(old: str, new: str) -> Relation:
    """How the values of two types stand to each other; types that only Python knows are equal or strangers."""
    return relation(old, new, type_admits)


def type_admits(wanted: str, written: str) -> bool:
    """Whether each value of the type `written` is right where `wanted` is declared, an int for a float included."""
    wanted_members = list(_members(wanted))
    return all(any(_member_admits(member, other) for member in wanted_members) for other in _members(written))


def _members(text: str) -> Iterator[str]:
    """The members of a union; a Literal of several values is a union of its values."""
    for member in _split(text, " | "):
        head, args = _parts(member)
        yield from (f"Literal[{arg}]" for arg in args) if head == "Literal" else [member]


def _member_admits(wanted: str, written: str) -> bool:
    if wanted in _EVERYTHING or wanted == written or (wanted, written) == ("float", "int"):
        return True
    wanted_head, wanted_args = _parts(wanted)
    head, args = _parts(written)
    if head == "Literal":
        return wanted_head != "Literal" and all(_is(arg, wanted) for arg in args)
    if head != wanted_head or head not in _COVARIANT:
        return False
    if not wanted_args:
        return True
    same = len(args) == len(wanted_args)
    return same and all(type_admits(*pair) for pair in zip(wanted_args, args, strict=True))


def _is(value: str, kind: str) -> bool:
    """Whether a value of a Literal, as text, is of a type."""
    if value in ("True", "False"):
        return kind == "bool"
    if value[:1] in "'\"":
        return kind == "str"
    return kind in ("int", "float") and value.lstrip("-").isdecimal()


def _parts(text: str) -> tuple[str, tuple[str, ...]]:
    """`dict[str, int]` is `dict` of `str` and `int`."""
    head, bracket, inside = text.partition("[")
    return head, tuple(_split(inside.removesuffix("]"), ", ")) if bracket else ()


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts of a text, cut where the separator stands outside brackets and quotes."""
    depth, quote, start, at = 0, "", 0, 0
    while at < len(text):
        sign = text[at]
        if quote:
            if sign == "\\":
                at += 1
            elif sign == quote:
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign in "[(":
            depth += 1
        elif sign in "])":
            depth -= 1
        elif not depth and text.startswith(separator, at):
            yield text[start:at]
            start = at = at + len(separator)
            continue
        at += 1
    yield text[start:]
