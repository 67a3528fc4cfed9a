"""Names as anchors and files: readable, and never the same for two names."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from batchpact.contracts.reference.slugs import file_name, slug, slugs


def test_a_name_of_letters_is_its_own_anchor() -> None:
    assert [slug(name) for name in ("__num_turns__", "trainer.Stage", "a-b", "Uid")] == [
        "__num_turns__",
        "trainer.Stage",
        "a-b",
        "Uid",
    ]


def test_an_odd_name_ends_in_a_hash() -> None:
    assert slug("validation/inputs") == "validation-inputs-dc8ace"
    assert slug("träge") != slug("tr-ge")
    assert re.fullmatch(r"[0-9a-f]{6}", slug("*"))


def test_a_name_that_comes_again_is_numbered() -> None:
    assert slugs(["score", "update", "score", "score"]) == ["score", "update", "score-2", "score-3"]
    assert slugs(["score", "score-2", "score"]) == ["score", "score-2", "score-3"]


def test_files_differ_in_more_than_case() -> None:
    assert file_name("grpo") == "grpo"
    assert len({file_name(name).lower() for name in ("grpo", "GRPO", "Grpo", ".grpo", "grpo ")}) == 5


@given(st.text(min_size=1), st.text(min_size=1))
def test_no_two_names_share_an_anchor_or_a_file(one: str, other: str) -> None:
    for made in (slug, file_name):
        assert re.fullmatch(r"[A-Za-z0-9_.\-]+", made(one))
        assert (made(one) == made(other)) == (one == other)
