"""Single faults in samples of every schema in `schemas/rl`: caught at level `values`, or allowed for a reason that stands here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch

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
        return dim.text in [other.text for other in axes] or (expression is not None and named.issuperset(expression.names()))

    def rows_are_told(self) -> bool:
        return any(field.places[0].placement not in ("meta", "arg") for field in self.others())

    def asked(self) -> bool:
        """Whether a rule over several fields looks at this one."""
        compiled = self.schema.__batchpact__
        instance = instance_for_rules(self.schema, self.healthy)
        looked: set[str] = set()

        class Watched:
            def __getattr__(self, name: str) -> Any:
                looked.add(name)
                return getattr(instance, name)

        for rule in compiled.rules.values():
            rule(Watched())
        return self.field.name in looked


class Allowed(NamedTuple):
    """Mutants of one kind that no check can catch, and why."""

    kind: str
    reason: str
    applies: Callable[[Case], bool]


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


LOOSE = frozenset[str]()
"""Fields that rules look at, and that keep to these with the values of other rows, too."""

ALLOWED = (
    Allowed("drop", "the field is optional", lambda case: not case.field.required),
    Allowed(
        "shorten",
        "no other field tells how long the axis is; a boundary compares it with what the stage has read",
        lambda case: (dim := _shortened(case)) is not None and dim.kind != "fixed" and not case.told(dim),
    ),
    Allowed(
        "shorten",
        "no other field has rows; a boundary compares them with what the stage has read",
        lambda case: _shortened(case) is None and not case.rows_are_told(),
    ),
    Allowed(
        "transpose",
        "no other field tells either axis; a boundary compares them with what the stage has read",
        _is_told_nothing_of_both,
    ),
    Allowed(
        "shuffle",
        "no rule over several fields looks at the field, so a row may have the value of any other",
        lambda case: not case.asked(),
    ),
    Allowed(
        "shuffle",
        "the rules that look at the field hold for the values of other rows, too",
        lambda case: case.asked() and case.field.key in LOOSE,
    ),
)
"""Every fault that the check of a batch by itself lets pass, and why nothing that is declared speaks against it."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Samples are tiny: other threads of torch would only wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_fault_is_caught_or_stands_in_the_table(schema: type[BatchSchema]) -> None:
    """Of three samples, so that rules get other values to look at."""
    caught: set[tuple[str, str]] = set()
    allowed: dict[tuple[str, str], str] = {}
    with use_config(ON):
        for seed in range(SEEDS):
            drawn = Sampler(schema).draw(seed=seed)
            healthy = drawn.batch.consistent_stores()._replace(args=drawn.args)
            counts = answered(schema, healthy, ON)
            assert problems(counts, healthy) == ()
            for mutant in mutants(list(counts.__batchpact__.spec.fields), healthy):
                fault = mutant.kind, mutant.field.key
                if problems(counts, mutant.stores):
                    caught.add(fault)
                reasons = [each.reason for each in ALLOWED if each.kind == mutant.kind and each.applies(Case(counts, healthy, mutant))]
                assert len(reasons) < 2, f"{fault}: {reasons}"
                allowed.update(dict.fromkeys([fault] if reasons else [], "".join(reasons)))
                seen = caught | allowed.keys()
                assert fault in seen or mutant.kind == "shuffle", f"{fault} is not caught"

    assert caught & allowed.keys() == set()
