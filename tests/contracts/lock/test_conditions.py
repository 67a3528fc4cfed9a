"""Conditions: in which configurations one holds beside another."""

from __future__ import annotations

import pytest

from batchpact.contracts.lock.conditions import all_of, conditions_relation
from batchpact.contracts.lock.relation import Relation
from batchpact.schemas import Condition, config, meta, present

ESTIMATOR, KL = config("algorithm.adv_estimator"), config("algorithm.use_kl_in_reward")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, None, Relation.SAME),
        (KL, KL, Relation.SAME),
        (KL, ~~KL, Relation.SAME),
        (KL, KL.named("use_kl"), Relation.SAME),
        (ESTIMATOR == "gae", ESTIMATOR.isin(["gae"]), Relation.SAME),
        (~(KL & (ESTIMATOR == "gae")), ~KL | (ESTIMATOR != "gae"), Relation.SAME),
        (config("n") > 1, ~(config("n") <= 1) & (config("n") > 1), Relation.SAME),
        (None, KL, Relation.NARROWER),
        (ESTIMATOR.isin(["gae", "vtrace"]), ESTIMATOR == "gae", Relation.NARROWER),
        (config("n") > 1, config("n") > 2, Relation.NARROWER),
        (KL, None, Relation.WIDER),
        (KL, KL | meta("validate"), Relation.WIDER),
        (present("rm_scores") & KL, present("rm_scores"), Relation.WIDER),
        (KL, ~KL, Relation.REPLACED),
        (KL, config("actor.use_kl_loss"), Relation.REPLACED),
    ],
)
def test_relations(old: Condition | None, new: Condition | None, expected: Relation) -> None:
    specs = (None if condition is None else condition.spec for condition in (old, new))

    assert conditions_relation(*specs) is expected


def test_what_asks_too_much_to_be_gone_through_is_taken_to_be_another() -> None:
    many = config("k0") == 0
    for number in range(1, 40):
        many = many & (config(f"k{number}") == number)

    assert conditions_relation(many.spec, (many & KL).spec) is Relation.REPLACED
    assert conditions_relation(many.spec, many.spec) is Relation.SAME


def test_several_conditions_are_one_that_all_of_them_hold() -> None:
    assert all_of([]) is None
    assert (
        conditions_relation(all_of([KL.spec, (ESTIMATOR == "gae").spec]), (KL & (ESTIMATOR == "gae")).spec)
        is Relation.SAME
    )
