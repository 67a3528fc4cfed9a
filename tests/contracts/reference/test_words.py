"""Sentences with links."""

from __future__ import annotations

import pytest

from batchpact.contracts.reference.words import Ref, joined, plain

REWARDS = Ref("stage", "rewards", "'rewards'")


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        ([REWARDS], "'rewards'"),
        ([REWARDS, "the outputs"], "'rewards' and the outputs"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdefgh"), "a, b, c, d, e, f, g and h"),
    ],
)
def test_items_are_joined_as_in_a_sentence_and_all_are_named(items: list[str | Ref], text: str) -> None:
    assert plain(joined(items)) == text


def test_a_link_stays_a_link() -> None:
    assert joined([REWARDS, "the outputs"]) == (REWARDS, " and ", "the outputs")
