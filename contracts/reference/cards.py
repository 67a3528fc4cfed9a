"""How large the cards of a graph are drawn.

All text is set in a typewriter face, whose letters are about equally wide on every machine: so the size of a card is
known before anything is drawn, and whatever lays out the cards needs no fonts.
"""

from __future__ import annotations

from textwrap import wrap
from typing import NamedTuple

from batchpact.contracts.reference.graph import Edge, Item, Node

LETTER = 0.62
"""The width of a letter, in its size."""
TITLE, TEXT, SMALL = 13.0, 11.0, 10.0
"""Sizes of text, in px: names of stages, fields, and what else is said."""
LINE = 16.0
"""From one line of text to the next."""
PADDING = 10.0
_GAP = 2
"""Letters between the columns of a card."""
ITEMS = 14
"""A card shows as many fields at most."""
NAMES = 4
"""An edge shows as many fields at most."""
_WRAPPED = 38
"""Letters of a line of a condition."""


class Card(NamedTuple):
    """A node, measured.

    Attributes:
        node: the node.
        title: its name, with the number at which it runs.
        when: its condition, in lines.
        items: the fields that are shown.
        more: how many are not.
        column: where the second column starts, from the left of the card.
        width: how wide it is, in px.
        height: how high.
    """

    node: Node
    title: str
    when: tuple[str, ...]
    items: tuple[Item, ...]
    more: int
    column: float
    width: float
    height: float


def card(node: Node) -> Card:
    """A card for a node."""
    title = f"{node.at + 1}  {node.name}" if node.kind == "stage" else node.name
    when = tuple(wrap(f"where {node.when}", _WRAPPED, break_long_words=False)) if node.when else ()
    shown = len(node.items) if len(node.items) <= ITEMS else ITEMS - 1
    items = node.items[:shown]
    names = max((len(_mark(item)) for item in items), default=0) * TEXT * LETTER
    declared = max((len(item.declared) for item in items), default=0) * SMALL * LETTER
    column = PADDING + names + (_GAP * TEXT * LETTER if declared else 0)
    lines = [(title, TITLE), *((line, SMALL) for line in when)]
    widest = max([column + declared, *(PADDING + len(text) * size * LETTER for text, size in lines)])
    more = len(node.items) - shown
    rows = len(items) + bool(more)
    height = PADDING + LINE * (1 + len(when)) + (PADDING + LINE * rows if rows else 0) + PADDING / 2
    return Card(node, title, when, items, more, column, round(widest + PADDING), round(height))


def _mark(item: Item) -> str:
    return f"{item.name} ?" if item.conditional else item.name


def label(edge: Edge) -> list[str]:
    """What an edge is called, in lines."""
    hidden = len(edge.fields) - NAMES
    return list(edge.fields) if hidden <= 0 else [*edge.fields[: NAMES - 1], f"and {hidden + 1} more"]
