"""Single faults in samples of every schema in `schemas/rl`: caught at level `values`, or in a table with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from batchpact.contracts import use_config
from batchpact.contracts.testing import Sampler
from batchpact.schemas import BatchSchema, FieldSpec
from batchpact.schemas.dim_names import bound_names
from batchpact.schemas.shapes import Dim, parse_dims
from batchpact.schemas.stores import Stores
from batchpact.schemas.values import instance_for_rules

from .mutations import KINDS, Mutant, mutants
from .vocabulary import ON, answered, every_schema, problems

SCHEMAS = every_schema()
SEEDS = 3

pytestmark = pytest.mark.slow


class Case(NamedTuple):
    """A mutant, with the schema and the sample that it was made of."""

    schema: type[BatchSchema]
    healthy: Stores
    mutant: Mutant

    @property
    def field(self) -> FieldSpec:
        return self.mutant.field

    def dims(self) -> tuple[Dim, ...]:
        place = self.field.place("tensor")
        return parse_dims((place and place.dims) or "")

    def others(self) -> list[FieldSpec]:
        """The other fields that the sample holds."""
        fields = self.schema.__batchpact__.spec.fields
        return [field for field in fields if field.key != self.field.key and self.healthy.find(field.key) is not None]

    def told(self, dim: Dim) -> bool:
        """Whether other fields tell what an axis of this one has to be."""
        places = [place for field in self.others() for place in field.places]
        axes = [other for place in places for other in parse_dims(place.dims or "")]
        named = bound_names(self.others())
        for other in axes:  # a sum tells the one name of it that nothing else tells
            unbound = [] if other.expression is None else other.expression.unbound(named)
            named |= set(unbound if len(unbound) == 1 else ())
        expression = dim.as_expression()
        return dim.text in [other.text for other in axes] or (
            expression is not None and named.issuperset(expression.names())
        )

    def rows_are_told(self) -> bool:
        """Whether anything else in the sample has rows; open columns are no fields of the schema."""
        return any(key != self.field.key for key in (*self.healthy.tensors, *self.healthy.columns))

    def asked(self) -> bool:
        """Whether a rule over several fields compares this one with others, row by row."""
        compiled = self.schema.__batchpact__
        instance = instance_for_rules(self.schema, self.healthy)
        looked: set[str] = set()

        class Watched:
            def __getattr__(self, name: str) -> Any:
                looked.add(name)
                return getattr(instance, name)

        for name, rule in compiled.rules.items():
            if name not in WITHIN_A_FIELD:
                rule(Watched())
        return self.field.name in looked and self.field.key not in ONLY_A_SWITCH


WITHIN_A_FIELD = (
    "rollout_log_probs_are_not_all_zero",
    "old_log_probs_are_not_all_zero",
    "ref_log_prob_is_not_all_zero",
)
"""Rules that ask for one number other than 0, which other rows have, too."""
ONLY_A_SWITCH = ("__num_turns__",)
"""Fields that only say in which rows a rule counts."""


class Allowed(NamedTuple):
    """Faults of one kind that nothing declared speaks against, and why; `mostly`: but for values that happen to."""

    kind: str
    reason: str
    applies: Callable[[Case], bool]
    mostly: bool = False


def _shortened(case: Case) -> Dim | None:
    """The axis that was made shorter, behind the batch axis."""
    place = case.field.place("tensor")
    ragged = place.ragged if place is not None else None
    dims = case.dims()
    return next((dim for dim in dims if dim.text == ragged), dims[-1]) if len(dims) > 1 else None


def _has_no_rows_to_compare(case: Case) -> bool:
    return _shortened(case) is None and case.field.places[0].placement != "meta" and not case.rows_are_told()


def _is_told_nothing_of_both(case: Case) -> bool:
    *before, left, right = case.dims()
    rows = not before and case.rows_are_told()
    return not rows and all(dim.kind == "name" and not case.told(dim) for dim in (left, right))


def _is_free_to_be_shorter(case: Case) -> bool:
    dim = _shortened(case)
    return dim is not None and dim.kind != "fixed" and not case.told(dim)


def _ragged(case: Case) -> Dim | None:
    place = case.field.place("tensor")
    return None if place is None or place.ragged is None else _shortened(case)


def _may_be_anything(case: Case) -> bool:
    return [place.type for place in case.field.places] == ["Any"]


ALLOWED = (
    Allowed("drop", "the field is optional", lambda case: not case.field.required),
    Allowed(
        "shorten",
        "no other field tells how long the axis is; a boundary compares it with what the stage has read",
        lambda case: _is_free_to_be_shorter(case) and not case.asked(),
    ),
    Allowed(
        "shorten",
        "no other field tells how long the axis is, and the rules that look at it may hold for what is left",
        lambda case: _is_free_to_be_shorter(case) and case.asked(),
        mostly=True,
    ),
    Allowed(
        "shorten",
        "no other field has rows; a boundary compares them with what the stage has read",
        lambda case: _shortened(case) is None and not case.rows_are_told(),
    ),
    Allowed("cast", "its cells may be anything", _may_be_anything),
    Allowed("nan", "its cells may be anything", _may_be_anything),
    Allowed(
        "transpose",
        "no other field tells either axis; a boundary compares them with what the stage has read",
        _is_told_nothing_of_both,
    ),
    Allowed(
        "shuffle",
        "no rule over several fields compares the field with others, so a row may have the value of any other",
        lambda case: not case.asked() and _ragged(case) is None,
    ),
    Allowed(
        "shuffle",
        "beside that, no other field tells the lengths of its rows; a sum must not be shorter than its parts",
        lambda case: not case.asked() and (dim := _ragged(case)) is not None and not case.told(dim),
        mostly=True,
    ),
)
"""Every fault that the check of a batch by itself lets pass, and why nothing that is declared speaks against it."""


class Seen:
    """What became of the faults of a schema, over its samples."""

    def __init__(self, schema: type[BatchSchema]) -> None:
        self.caught: set[tuple[str, str]] = set()
        self.passed: set[tuple[str, str]] = set()
        self.caught_though_allowed: set[tuple[str, str]] = set()
        self.entries: dict[tuple[str, str], set[Allowed]] = {}
        for seed in range(SEEDS):
            drawn = Sampler(schema).draw(seed=seed)
            healthy = drawn.batch.consistent_stores()._replace(args=drawn.args)
            counts = answered(schema, healthy, ON)
            assert problems(counts, healthy) == ()
            for mutant in mutants(list(counts.__batchpact__.spec.fields), healthy):
                fault, case = (mutant.kind, mutant.field.key), Case(counts, healthy, mutant)
                found = {each for each in ALLOWED if each.kind == mutant.kind and each.applies(case)}
                self.entries.setdefault(fault, set()).update(found)
                if not problems(counts, mutant.stores):
                    self.passed.add(fault)
                    continue
                self.caught.add(fault)
                if any(not each.mostly for each in found):
                    self.caught_though_allowed.add(fault)


@pytest.fixture(scope="module")
def seen() -> dict[str, Seen]:
    with use_config(ON):
        return {name: Seen(schema) for name, schema in SCHEMAS.items()}


def test_a_fault_is_caught_or_stands_in_the_table(seen: dict[str, Seen]) -> None:
    """Of several samples, so that rules get other values to look at: one of them has to speak."""
    missed = [
        (name, *fault)
        for name, faults in seen.items()
        for fault in sorted(faults.passed - faults.caught)
        if not faults.entries[fault]
    ]

    assert missed == []


def test_nothing_that_is_caught_stands_in_the_table(seen: dict[str, Seen]) -> None:
    needless = [(name, *fault) for name, faults in seen.items() for fault in sorted(faults.caught_though_allowed)]

    assert needless == []


def test_every_line_of_the_table_is_needed_and_every_kind_of_fault_is_caught_somewhere(seen: dict[str, Seen]) -> None:
    used = {entry for faults in seen.values() for fault in faults.passed for entry in faults.entries[fault]}

    assert [entry.reason for entry in ALLOWED if entry not in used] == []
    assert {kind for faults in seen.values() for kind, _ in faults.caught} == set(KINDS)
    assert not any(len(entries) > 1 for faults in seen.values() for entries in faults.entries.values())
