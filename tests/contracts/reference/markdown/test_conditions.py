"""The page of conditions."""

from __future__ import annotations

from tests.contracts.reference.markdown.test_fields import section
from tests.contracts.reference.small import ppo_project


def test_a_key_says_what_is_told_apart_and_what_it_switches() -> None:
    assert section(ppo_project(), "key-actor.use_kl_loss", "conditions.md") == [
        "## actor.use\\_kl\\_loss",
        "A key of the configuration. These are told apart: True; False.",
        "| switches | in | where |",
        "| --- | --- | --- |",
        "| stage <ref\\_log\\_prob> | <ppo> | <use\\_reference> (<algorithm.use\\_kl\\_in\\_reward> or "
        "<actor.use\\_kl\\_loss>) |",
        "| <update\\_actor> reads <ref\\_log\\_prob> |  | <actor.use\\_kl\\_loss> |",
    ]


def test_meta_leads_to_its_field() -> None:
    assert section(ppo_project(), "key-meta-validate-102ce3", "conditions.md")[1] == (
        "A value of meta. See <validate>. These are told apart: True; False."
    )


def test_a_name_says_what_it_stands_for() -> None:
    assert section(ppo_project(), "condition-use_reference", "conditions.md") == [
        "use\\_reference | <algorithm.use\\_kl\\_in\\_reward> or <actor.use\\_kl\\_loss> |"
    ]


def test_values_that_are_used_as_they_are_stand_at_the_end() -> None:
    assert (
        section(ppo_project(), "values", "conditions.md")[-1] == "| rollout.n | how many rows <generate> makes of one |"
    )
