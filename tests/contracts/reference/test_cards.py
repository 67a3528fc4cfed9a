"""Cards are as large as their text, whatever fonts a machine has."""

from __future__ import annotations

from batchpact.contracts.reference.cards import LETTER, PADDING, SMALL, TEXT, TITLE, card, label
from batchpact.contracts.reference.graph import Edge, Item, Node


def node(items: int, name: str = "update", when: str = "") -> Node:
    made = tuple(Item(f"field_{at:02}", 'f32 "batch response"', at == 0) for at in range(items))
    return Node("stage", 3, name, "", when, made)


def test_a_card_has_room_for_its_longest_line() -> None:
    made = card(node(2))
    second = len('f32 "batch response"') * SMALL * LETTER

    assert made.title == "4  update"
    assert made.column >= PADDING + len("field_00 ?") * TEXT * LETTER
    assert made.width >= made.column + second
    assert card(node(0, name="a" * 60)).width >= 60 * TITLE * LETTER


def test_a_condition_is_wrapped_between_words() -> None:
    made = card(node(1, when="algorithm.rollout_correction.bypass_mode_of_the_trainer and not trainer.val_only"))

    assert made.when == (
        "where",
        "algorithm.rollout_correction.bypass_mode_of_the_trainer",
        "and not trainer.val_only",
    )
    assert made.width >= len(made.when[1]) * SMALL * LETTER


def test_many_fields_are_counted() -> None:
    assert (len(card(node(14)).items), card(node(14)).more) == (14, 0)
    assert (len(card(node(15)).items), card(node(15)).more) == (13, 2)
    assert card(node(40)).height == card(node(15)).height


def test_an_edge_with_many_fields_counts_the_rest() -> None:
    names = tuple("abcdef")

    assert label(Edge(0, 1, names[:4], False)) == ["a", "b", "c", "d"]
    assert label(Edge(0, 1, names, False)) == ["a", "b", "c", "and 3 more"]
