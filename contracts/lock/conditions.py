"""Conditions: in which configurations one holds and another does not."""

from __future__ import annotations

from collections.abc import Sequence

from batchpact.contracts.lock.relation import Relation, between
from batchpact.contracts.proof.space import Space
from batchpact.schemas.condition_specs import AllSpec, ConditionSpec
from batchpact.schemas.errors import DeclarationError


def conditions_relation(old: ConditionSpec | None, new: ConditionSpec | None) -> Relation:
    """How the configurations in which two conditions hold stand to each other; None holds in all of them.

    Two conditions that are spelt differently and hold in the same configurations are the same. Where they ask too many
    questions to go through all answers, they are taken to be replaced.
    """
    if old == new:
        return Relation.SAME
    try:
        space = Space([condition for condition in (old, new) if condition is not None])
    except DeclarationError:
        return Relation.REPLACED
    before, after = space.points_of(old), space.points_of(new)
    return between(narrows=not after & ~before, widens=not before & ~after)


def all_of(conditions: Sequence[ConditionSpec]) -> ConditionSpec | None:
    """The condition that all of these hold; None where there are none."""
    return AllSpec(of=tuple(conditions)) if conditions else None
