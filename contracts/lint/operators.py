"""Operators: what they make of strings, lists and dicts, and which names they ask for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product

from batchpact.contracts.lint.machine import Machine
from batchpact.contracts.lint.names import elements, fill, probe
from batchpact.contracts.lint.trace import Site
from batchpact.contracts.lint.values import UNKNOWN, Element, Items, KeyOf, Keys, Store, Text, Value, one

_SPELLED = 64
"""A string with more possible spellings is unknown."""


def spelled(parts: Sequence[Value]) -> Value:
    """The strings that known parts make, one after the other."""
    texts: list[list[str]] = []
    number = 1
    for part in parts:
        texts.append([atom.text for atom in part if isinstance(atom, Text)])
        number *= len(part)
        if number > _SPELLED or len(texts[-1]) < len(part):
            return UNKNOWN
    return frozenset(Text("".join(words)) for words in product(*texts))


def combine(machine: Machine, op: ast.operator, left: Value, right: Value, site: Site) -> Value:
    """What an operator makes of two values."""
    both = [*left, *right]
    if isinstance(op, (ast.BitAnd, ast.Sub)):
        compare_sets(machine, left, right, site)
    if isinstance(op, ast.BitOr) and any(isinstance(atom, Store) for atom in both):
        made = Store()
        for side in (left, right):
            fill(machine, made, side, site)
        return one(made)
    if any(isinstance(atom, (Items, Keys)) for atom in both):
        sides = (left,) if isinstance(op, ast.Sub) else (left, right)
        return one(Items([part for side in sides for part in _members(machine, side, site)], complete=False))
    return spelled([left, right]) if isinstance(op, ast.Add) else UNKNOWN


def _members(machine: Machine, side: Value, site: Site) -> list[Element]:
    """What stands in a set. Nothing is done with the names of a batch here: they are only told apart."""
    keys = [atom for atom in side if isinstance(atom, Keys)]
    for atom in keys:
        machine.use_all(atom.store, site, own=True)
    others = frozenset(atom for atom in side if atom not in keys)
    return [*(Element(one(KeyOf(atom.store))) for atom in keys), *elements(machine, others, site)]


def compare(machine: Machine, op: ast.cmpop, left: Value, right: Value, site: Site) -> None:
    """A comparison: `in` asks for a name, `<=` and its like for all names of a set."""
    if isinstance(op, (ast.In, ast.NotIn)):
        probe(machine, right, left, site)
    elif isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        compare_sets(machine, left, right, site)


def compare_sets(machine: Machine, left: Value, right: Value, site: Site) -> None:
    """The names of one side are looked for among the keys of the other."""
    for side, among in ((left, right), (right, left)):
        keys = frozenset(atom for atom in among if isinstance(atom, Keys))
        probe(machine, keys, frozenset(atom for atom in side if isinstance(atom, Items)), site)
