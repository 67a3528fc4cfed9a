"""A dictionary that does not grow without end."""

from __future__ import annotations

from batchpact.contracts.bounded import MOST, Bounded


def test_it_keeps_what_was_put_in_until_it_is_full_and_starts_anew_then() -> None:
    kept: Bounded[int, str] = Bounded()
    for at in range(MOST):
        kept[at] = str(at)

    assert len(kept) == MOST and kept[0] == "0"
    kept[MOST] = "one more"
    assert kept == {MOST: "one more"}
