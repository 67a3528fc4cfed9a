"""A schema under answers to its conditions: a field is as declared, optional, or not there."""

from __future__ import annotations

from typing import Annotated

import torch
from jaxtyping import Float32
from torch import Tensor

from batchpact.schemas import BatchSchema, When, config, rule
from batchpact.schemas.diagnose import diagnose
from batchpact.schemas.instances import make_instance
from batchpact.schemas.narrowing import conditions_of, narrowed
from batchpact.schemas.stores import Stores
from batchpact.schemas.text import sentence
from batchpact.schemas.values import check_values


class Reads(BatchSchema):
    scores: Float32[Tensor, "batch"]
    values: Annotated[Float32[Tensor, "batch"], When(config("critic"))]

    @rule
    def values_are_small(self) -> Tensor:
        """values are below 10, where there are any"""
        return self.scores.bool() | True if self.values is None else self.values < 10


class Plain(BatchSchema):
    scores: Float32[Tensor, "batch"]


WITH = Stores({"scores": torch.ones(2), "values": torch.ones(2)}, {}, {})
WITHOUT = Stores({"scores": torch.ones(2)}, {}, {})
WRONG = Stores({"scores": torch.ones(2), "values": torch.ones(2, 1)}, {}, {})


def said(schema: type[BatchSchema], stores: Stores) -> list[str]:
    found = diagnose(schema.__batchpact__.plan, stores).violations
    assert (schema.__batchpact__.plan.sizes(stores) is None) == bool(found)
    return [f"{wrong.code} {wrong.field} {sentence(wrong)}" for wrong in found]


def test_a_field_is_required_where_its_condition_holds() -> None:
    on = narrowed(Reads, {"values": True})

    assert said(on, WITH) == []
    assert said(on, WITHOUT) == ['BP001 values declared f32 "batch"; no name in the batch is close']


def test_a_field_is_not_looked_at_where_its_condition_does_not_hold() -> None:
    off = narrowed(Reads, {"values": False})

    assert said(off, WITHOUT) == said(off, WRONG) == []
    assert [field.key for field in off.__batchpact__.spec.fields] == ["scores"]


def test_a_field_is_optional_where_nobody_knows() -> None:
    for schema in (Reads, narrowed(Reads, {"values": None}), narrowed(Reads, {})):
        assert said(schema, WITH) == said(schema, WITHOUT) == []
        assert len(said(schema, WRONG)) == 1
        assert make_instance(schema, WITHOUT, {}, None).values is None  # type: ignore[attr-defined]


def test_a_narrowed_schema_is_a_kind_of_the_schema_and_always_the_same_one() -> None:
    off = narrowed(Reads, {"values": False})

    assert narrowed(Reads, {"values": False}) is off
    assert issubclass(off, Reads)
    assert off.__qualname__ == Reads.__qualname__
    assert narrowed(Plain, {}) is Plain
    assert list(conditions_of(Reads.__batchpact__.spec)) == ["values"]


def test_a_rule_sees_none_for_a_field_that_is_off() -> None:
    off, on = narrowed(Reads, {"values": False}), narrowed(Reads, {"values": True})

    assert check_values(off, WITHOUT) == []
    assert check_values(on, WITH) == []
    assert len(check_values(on, Stores({"scores": torch.ones(2), "values": torch.full((2,), 11.0)}, {}, {}))) == 1
