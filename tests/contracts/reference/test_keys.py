"""What conditions ask about, with the values that are told apart and what these switch."""

from __future__ import annotations

from batchpact.contracts.reference.keys import keys
from tests.contracts.reference.small import odd_project, ppo_project


def test_every_key_with_its_cases() -> None:
    found = keys(ppo_project())

    assert {name: key.told_apart for name, key in found.items()} == {
        "actor.use_kl_loss": "True; False",
        "algorithm.adv_estimator": "'gae'; 'grpo'; anything else",
        "algorithm.use_kl_in_reward": "True; False",
        "meta validate": "True; False",
        "reward_model.enable": "True; False",
    }


def test_a_key_knows_the_stages_and_the_fields_that_it_switches() -> None:
    switched = keys(ppo_project())["reward_model.enable"].switched

    assert [(part.owner and part.owner.name, part.pipeline, part.side, part.field) for part in switched] == [
        ("reward_model", "ppo", None, ""),
        ("score", None, "reads", "rm_scores"),
    ]


def test_what_always_holds_is_listed_too() -> None:
    switched = keys(odd_project())["meta validate"].switched

    assert [(part.owner and part.owner.name, part.pipeline) for part in switched] == [
        (None, "Odd / pipeline"),
        ("again/inner", "Odd / pipeline"),
        ("again/inner", "Odd / pipeline"),
        ("again/inner", "odd-pipeline"),
        ("again/inner", "odd-pipeline"),
    ]
