"""Names as anchors and files: readable, and never the same for two names."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from batchpact.contracts.reference.slugs import distinction, file_name, slug, slugs


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


def test_what_tells_names_apart_leaves_out_what_they_share() -> None:
    def told(*names: str) -> list[str]:
        return [distinction(name, names) for name in names]

    assert told("rl.dense.updates.Update", "rl.queue.updates.Update") == ["dense", "queue"]
    assert told("rl.dense.log_probs.Compute", "rl.queue.engines.Compute") == ["dense.log_probs", "queue.engines"]
    assert told("worker.Actor.update", "worker.Critic.update") == ["Actor", "Critic"]
    assert told("plan.A", "plan.B") == ["A", "B"]
    assert told("plan.A", "plan.A.A") == ["plan.A", "A"]
